import type { StorageClient } from "../../../src/mounts/site/client.ts";
import type { WantedMount } from "../../../src/mounts/site/row.ts";
import { createFingerprint, type Fingerprint } from "../../../src/secrets/fingerprint.ts";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { driverByName, memoryStore, mount, openDesk } from "./desk.ts";
import { type Storages, startStorages } from "./stand-in.ts";
import type { Row } from "./stand-in-row.ts";

/** The process ends here: nothing after it runs. */
class Crash extends Error {}

/** Change of a mount in a test, from an initial to a final state. */
export interface Story {
  readonly name: string;
  readonly before: readonly WantedMount[];
  readonly after: readonly WantedMount[];
}

const ITEMS = {
  url: "https://up.example",
  username: "admin",
  password: "pass-word",
  token: "token-of-mooring",
};
const upstream = (changes: Partial<WantedMount>): WantedMount =>
  mount({ driver: "AList V3", items: ITEMS, members: { order: 1, remark: "r" }, ...changes });
const changed = upstream({
  revision: 2,
  members: { order: 2, remark: "other" },
  items: { ...ITEMS, url: "https://other.example" },
});

export const stories: readonly Story[] = [
  { name: "create", before: [], after: [upstream({})] },
  { name: "create disabled", before: [], after: [upstream({ disabled: true })] },
  { name: "change", before: [upstream({})], after: [changed] },
  { name: "rename", before: [upstream({})], after: [{ ...changed, path: "/renamed" }] },
  {
    name: "new credential",
    before: [upstream({})],
    after: [{ ...changed, credentialRevision: 2, items: { ...ITEMS, token: "token-given" } }],
  },
  { name: "disable", before: [upstream({})], after: [upstream({ revision: 2, disabled: true })] },
  { name: "delete", before: [upstream({})], after: [] },
];

/** Place of a crash: the n-th await, of Mooring or of the server. */
export interface Cut {
  readonly at: number;
  /**
   * - `mooring before`, `mooring after`: Mooring ends before a call or write is sent, or after it
   * was done.
   * - `server`: the server is killed inside a call, after the row was stored or before, and starts
   * again.
   */
  readonly who: "mooring before" | "mooring after" | "server";
  /** Sealing key that Mooring is given after the crash: the first one, or another one. Default: none. */
  readonly key?: "first" | "another";
}

export const [ONE, OTHER] = ["ab".repeat(32), "cd".repeat(32)];
export const sealedBy = (...keys: string[]): Fingerprint =>
  createFingerprint(Buffer.alloc(32, 7), keys);

/** Hashes of secrets before and after the crash. */
function hashesOf({ key }: Cut): { readonly before?: Fingerprint; readonly after?: Fingerprint } {
  if (key === undefined) return {};
  if (key === "first") return { after: sealedBy(ONE) };
  return { before: sealedBy(ONE), after: sealedBy(OTHER, ONE) };
}

/** Replaces the hashes of states, as the start with another sealing key does. */
export async function renewHashes(store: RecordStateStore, { renew }: Fingerprint): Promise<void> {
  const rows = await store.list();
  await store.write(
    rows.map(({ state, ...row }) => ({
      ...row,
      state: state.replaceAll(/(?<=")hmac[12]:[\w:-]+(?=")/g, renew),
    })),
  );
}

/**
 * Runs a story with a crash at one of its awaits and another round after it.
 *
 * @returns whether the crash was reached; undefined: the story ends before it. A text is the
 * failure.
 */
export async function runCut(story: Story, cut: Cut): Promise<string | undefined> {
  const site = await startStorages(driverByName);
  try {
    return await cutOnce(site, story, cut);
  } finally {
    site.hold = undefined;
    await site.stop();
  }
}

async function cutOnce(site: Storages, story: Story, cut: Cut): Promise<string | undefined> {
  const store = memoryStore();
  const newest = spendTokens(site);
  const { before: hash, after: newHash } = hashesOf(cut);
  const first = await openDesk(site, { store, ...(hash && { hash }) });
  first.wanted = [...story.before];
  await first.round();
  first.close();
  const old = structuredClone(site.row("/films"));
  let count = 0;
  let isCut = false;
  const isReached = (): boolean => {
    count += 1;
    if (count !== cut.at) return false;
    isCut = true;
    return true;
  };
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isCut && cut.who !== "server") throw new Crash();
    if (cut.who === "mooring before" && isReached()) throw new Crash();
    const result = await work();
    if (cut.who === "mooring after" && isReached()) throw new Crash();
    return result;
  };
  if (cut.who === "server")
    site.hold = async () => {
      if (!isReached()) return;
      site.hold = undefined;
      await site.restart();
      // The killed call does not continue.
      throw new Crash();
    };
  const wrapped = {
    ...store,
    write: (rows: Parameters<typeof store.write>[0]) => guard(() => store.write(rows)),
  };
  const broken = await openDesk(site, {
    store: wrapped,
    ...(hash && { hash }),
    wrap: (client) =>
      Object.fromEntries(
        Object.entries(client).map(([name, call]) => [
          name,
          (...args: unknown[]) =>
            guard(() => (call as (...all: unknown[]) => Promise<unknown>)(...args)),
        ]),
      ) as unknown as StorageClient,
  });
  broken.wanted = [...story.after];
  await broken.round().catch(() => undefined);
  broken.close();
  if (!isCut) return undefined;
  site.hold = undefined;
  if (newHash !== undefined) await renewHashes(store, newHash);
  return finish(site, store, story, old, newest, newHash);
}

/**
 * Makes the provider issue a new token at each start of the driver: only the newest one is valid.
 *
 * @returns the newest one.
 */
export function spendTokens(site: Storages): () => string {
  let newest = "";
  let logins = 0;
  site.providers.set("AList V3", (live) => {
    const lastToken = live.addition["token"];
    if (lastToken !== newest && lastToken !== "token-given" && lastToken !== "token-of-mooring")
      throw new Error("the token is spent");
    logins += 1;
    newest = `refreshed-${logins}`;
    live.addition["token"] = newest;
  });
  return () => newest;
}

/** Final state after the rounds that follow a crash. @returns the failures; empty: none. */
export async function finish(
  site: Storages,
  store: RecordStateStore,
  story: Story,
  old: Row | undefined,
  newest: () => string,
  hash?: Fingerprint,
): Promise<string> {
  const half = judge(site, story, old, newest());
  if (half.emptied !== "") return `after the crash: ${half.emptied}`;
  let time = Date.now();
  const next = await openDesk(site, { store, now: () => time, ...(hash && { hash }) });
  next.wanted = [...story.after];
  await next.round();
  // A mount that may be starting is waited for, and tried again at its time.
  for (let more = 0; more < 3 && judge(site, story, old, newest()).open !== ""; more += 1) {
    time += 200_000;
    await next.round();
  }
  const calls = site.calls.length;
  await next.round();
  next.close();
  const end = judge(site, story, old, newest());
  if (end.emptied !== "") return end.emptied;
  if (end.open !== "") return `${end.open}; state ${JSON.stringify(await store.list())}`;
  if (site.calls.length - calls !== 1) return "a round that has nothing to do makes calls";
  return "";
}

function judge(
  site: Storages,
  story: Story,
  old: Row | undefined,
  newest: string,
): { readonly emptied: string; readonly open: string } {
  const [wanted] = story.after;
  const rows = [...site.rows.values()];
  if (rows.length > 1) return { emptied: `there are ${rows.length} rows`, open: "" };
  const [row] = rows;
  if (row === undefined)
    return wanted === undefined || story.before.length === 0
      ? { emptied: "", open: wanted === undefined ? "" : "it is not there" }
      : { emptied: "the row is gone", open: "" };
  if (wanted === undefined && old === undefined) return { emptied: "", open: "a row is there" };
  const addition = JSON.parse(row.addition) as Record<string, unknown>;
  for (const name of ["url", "username", "password", "token"])
    if (typeof addition[name] !== "string" || addition[name] === "")
      return { emptied: `${name} was emptied`, open: "" };
  if (row.remark === "" || row.driver === "") return { emptied: "a member was emptied", open: "" };
  if (!["token-given", "token-of-mooring", newest].includes(String(addition["token"])))
    return { emptied: `the token ${addition["token"]} is older than ${newest}`, open: "" };
  if (newest !== "" && addition["token"] === "token-of-mooring")
    return { emptied: "a refreshed token was overwritten by an older one", open: "" };
  if (wanted === undefined) return { emptied: "", open: "a row is there" };
  const expected: [string, unknown, unknown][] = [
    ["path", row.mount_path, wanted.path],
    ["disabled", row.disabled, wanted.disabled],
    ["order", row.order, wanted.members["order"]],
    ["remark", row.remark, wanted.members["remark"]],
    ["url", addition["url"], wanted.items["url"]],
    ["status", row.status, wanted.disabled ? "disabled" : "work"],
    ["in memory", site.live.has(row.mount_path), !wanted.disabled],
  ];
  const open = expected
    .filter(([, is, should]) => is !== should)
    .map(([name, is]) => `${name} is ${is}`);
  return { emptied: "", open: open.join(", ") };
}
