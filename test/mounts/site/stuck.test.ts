import { afterEach, beforeEach, expect, test } from "vitest";
import type { StorageClient } from "../../../src/mounts/site/client.ts";
import { SiteFailure } from "../../../src/sync/failure.ts";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { startedForEach } from "../../started.ts";
import { type Desk, driverByName, memoryStore, mount, openDesk, writes } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

const site = startedForEach(() => startStorages(driverByName));
let desk: Desk;
let store: RecordStateStore;
let time = 1_000_000;

beforeEach(async () => {
  store = memoryStore();
  desk = await openDesk(site, { store, now: () => time });
  desk.wanted = [mount({ members: { remark: "kept" } })];
  await desk.round();
});

afterEach(() => desk.close());

/** Makes each mount of AList V3 hang; its creation is without an answer as soon as it hangs. */
async function hang(start: Promise<unknown>): Promise<void> {
  const started = Promise.withResolvers<never>();
  site.providers.set("AList V3", async () => {
    started.reject(new SiteFailure("silent", "no answer"));
    await start;
  });
  const wrap = (client: StorageClient): StorageClient => ({
    ...client,
    create: (row, secrets) => Promise.race([client.create(row, secrets), started.promise]),
  });
  const { wanted } = desk;
  desk.close();
  desk = await openDesk(site, { store, now: () => time, wrap });
  desk.wanted = wanted;
}

const change = () => mount({ revision: 2, members: { remark: "kept", order: 4 } });

test("after an update that disables a mount which is still served, a mount and a clean disable precede the change", async () => {
  // Like another program: the row is disabled, the driver runs and stores its state.
  site.edit("/films", { disabled: true });
  desk.wanted = [change()];
  await desk.round();
  expect(writes(site).slice(1)).toEqual(["enable", "disable", "update", "enable"]);
  expect(site.row("/films")).toMatchObject({ order: 4, disabled: false, status: "work" });
});

test.each(["disabled", "work"])(
  "an enabled row without a mount in memory (status %s) is disabled by an update, unless the mount may be starting",
  async (status) => {
    site.edit("/films", { status });
    site.live.delete("/films");
    desk.wanted = [change()];
    await desk.round();
    expect(writes(site).slice(1)).toEqual(["disable"]);
    expect(desk.state()?.error).sentence("still in progress");
    time += 131_000;
    await desk.round();
    expect(writes(site).slice(2)).toEqual(["disable", "update", "enable"]);
    expect(site.row("/films")).toMatchObject({ order: 4, disabled: false, status: "work" });
    expect(site.live.has("/films")).toBe(true);
  },
);

test("the same state of a mount without differences is repaired after its time", async () => {
  site.edit("/films", { status: "disabled" });
  site.live.delete("/films");
  await desk.round();
  expect(writes(site)).toEqual(["create"]);
  time += 131_000;
  await desk.round();
  expect(site.row("/films")?.status).toBe("work");
  expect(desk.state()).toMatchObject({ error: "", since: 0, phase: "" });
});

test("a mount that is to be disabled is created enabled, then disabled", async () => {
  desk.wanted.push(mount({ name: "off", path: "/off", disabled: true }));
  await desk.round();
  expect(writes(site).slice(1)).toEqual(["create", "disable"]);
  expect(site.calls.find(({ call }) => call.endsWith("create"))?.body).toMatchObject({
    disabled: false,
  });
  expect(site.row("/off")).toMatchObject({ disabled: true, status: "disabled" });
  expect(site.live.has("/off")).toBe(false);
});

test("a row that is restored when its hanging mount ends is deleted again", async () => {
  desk.wanted = [];
  const row = structuredClone(site.row("/films"));
  await desk.round();
  expect(site.rows.size).toBe(0);
  expect(desk.state()?.phase).toBe("gone");
  if (row === undefined) throw new Error("the mount was there");
  site.rows.set(row.id, row);
  const late = { row, addition: {} };
  site.live.set("/films", late);
  await desk.round();
  expect(site.rows.size).toBe(0);
  // A new mount of another user at the same path is kept.
  site.rows.set(99, { ...row, id: 99 });
  await desk.round();
  expect([...site.rows.keys()]).toEqual([99]);
  time += 200_000;
  await desk.round();
  expect(desk.state()).toBeUndefined();
});

test("with a hanging provider the row is kept, other mounts continue, and the mount is not sent twice", async () => {
  const gate = Promise.withResolvers<void>();
  await hang(gate.promise);
  const items = { url: "https://slow.example", token: "t" };
  desk.wanted = [
    mount({ name: "slow", path: "/slow", driver: "AList V3", items }),
    ...desk.wanted,
    mount({ name: "quick", path: "/quick" }),
  ];
  await desk.round();
  expect(site.row("/quick")?.status).toBe("work");
  expect(desk.state("slow")).toMatchObject({ phase: "mount", status: "" });
  for (let rounds = 0; rounds < 3; rounds += 1) {
    time += 30_000;
    await desk.round();
  }
  expect(writes(site).filter((call) => call === "create")).toHaveLength(3);
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  await expect.poll(() => site.row("/slow")?.status).toBe("work");
  await desk.round();
  expect(desk.state("slow")).toMatchObject({ phase: "", error: "", status: "work", applied: 1 });
  expect(site.mounts.get("/slow")).toBe(1);
});

test("a row of a server that is killed during a hanging start is finished by a later round", async () => {
  await hang(new Promise(() => undefined));
  const items = { url: "https://slow.example", token: "t" };
  desk.wanted = [...desk.wanted, mount({ name: "slow", path: "/slow", driver: "AList V3", items })];
  await desk.round();
  site.providers.delete("AList V3");
  await site.restart();
  await desk.round();
  expect(site.row("/slow")?.status).toBe("work");
  expect(site.addition("/slow")).toMatchObject(items);
  expect(desk.state("slow")).toMatchObject({ phase: "", error: "" });
});

test("first contact with a server that has mounts writes nothing", async () => {
  const other = await openDesk(site, { now: () => time });
  other.wanted = [mount({ name: "new", path: "/new" }), mount({ members: { remark: "mine" } })];
  const before = writes(site).length;
  const { extra, states } = await other.round();
  expect(writes(site)).toHaveLength(before);
  expect(other.contacted()).toBe(false);
  expect(extra).toEqual([]);
  expect(states["films"]?.differs).toEqual(["remark"]);
  await other.round({ forced: ["new"] });
  expect(site.row("/new")?.status).toBe("work");
  other.close();
});

test("a token that a user sets is pushed once, and the site's newer one is never overwritten", async () => {
  const items = { url: "https://a.example", token: "first" };
  const wanted = mount({ name: "up", path: "/up", driver: "AList V3", items });
  desk.wanted = [wanted];
  await desk.round();
  site.writeBack("/up", { token: "refreshed" });
  desk.wanted = [
    { ...wanted, revision: 2, credentialRevision: 2, items: { ...items, token: "given" } },
  ];
  await desk.round();
  expect(site.addition("/up")["token"]).toBe("given");
  site.writeBack("/up", { token: "refreshed again" });
  desk.wanted = [
    {
      ...wanted,
      revision: 3,
      credentialRevision: 2,
      items: { url: "https://b.example", token: "given" },
    },
  ];
  await desk.round();
  expect(site.addition("/up")).toMatchObject({
    url: "https://b.example",
    token: "refreshed again",
  });
});

test("an edit of a mount on the site is adopted or overwritten by the mount's policy", async () => {
  const items = { url_structure: "a:1:http://a.example/a" };
  const tree = mount({ name: "tree", path: "/tree", driver: "UrlTree", items });
  desk.wanted = [tree];
  await desk.round();
  site.writeBack("/tree", { url_structure: "edited" });
  const { adopt } = await desk.round();
  expect(adopt).toEqual({ tree: { url_structure: "edited" } });
  expect(site.addition("/tree")["url_structure"]).toBe("edited");
  // The user's change in Mooring is newer than the last equal state.
  desk.wanted = [{ ...tree, revision: 3, items: { url_structure: "mine" } }];
  await desk.round();
  expect(site.addition("/tree")["url_structure"]).toBe("mine");
  desk.wanted = [{ ...tree, revision: 4, content: "overwrite", items: { url_structure: "mine" } }];
  site.writeBack("/tree", { url_structure: "edited" });
  await desk.round();
  expect(site.addition("/tree")["url_structure"]).toBe("mine");
});

test("a secret that the server transforms is sent once, and again after a change in Mooring", async () => {
  const items = { remote_path: "/films", password: "clear-text", salt: "" };
  const crypt = mount({ name: "crypt", path: "/crypt", driver: "Crypt", items });
  desk.wanted = [...desk.wanted, crypt];
  await desk.round();
  const first = site.addition("/crypt")["password"];
  await desk.round();
  await desk.round();
  expect(site.addition("/crypt")["password"]).toBe(first);
  expect(site.mounts.get("/crypt")).toBe(1);
  desk.wanted = [
    desk.wanted[0] ?? crypt,
    { ...crypt, revision: 2, items: { ...items, password: "another" } },
  ];
  await desk.round();
  expect(site.addition("/crypt")["password"]).not.toBe(first);
  await desk.round();
  expect(site.mounts.get("/crypt")).toBe(2);
});

test("no state and no error has a secret", async () => {
  site.providers.set("AList V3", () =>
    Promise.reject(new Error("bad pass-word-1 and token-1\nstack")),
  );
  const items = { url: "https://a.example", password: "pass-word-1", token: "token-1" };
  desk.wanted = [...desk.wanted, mount({ name: "up", path: "/up", driver: "AList V3", items })];
  await desk.round();
  const text = JSON.stringify(await store.list());
  expect(text).toContain("bad ********");
  for (const secret of ["pass-word-1", "token-1", "stack"]) expect(text).not.toContain(secret);
});
