import { beforeEach, describe, expect, test } from "vitest";
import type { ServerContents } from "../../src/servers/contents.ts";
import type { EntryResult } from "../../src/servers/restore.ts";
import { createServerService, type ServerService } from "../../src/servers/service.ts";
import { ORIGIN } from "../sites/follower.ts";
import { ALIST, home, hut, mooring, openSites, users, useUsers } from "../users/two-sites.ts";

useUsers();

let servers: ServerService;
/** Paths of managed rules by site. */
const managed = new Map<string, readonly string[]>();

beforeEach(() => {
  const { registry, sync } = mooring.sites;
  const managedRules = ({ name }: { readonly name: string }) => managed.get(name) ?? [];
  managed.clear();
  servers = createServerService({ registry, clientOf: sync.clientOf, users, managedRules });
});

const ANN = { username: "ann", base_path: "/films", permission: 1 << 14 };
const SHARE = {
  id: "films-2026",
  files: ["/films"],
  pwd: "share-password",
  creator: "ann",
  expires: "2030-01-01T00:00:00Z",
  accessed: 2,
  max_accessed: 9,
  disabled: false,
  remark: "for friends",
};

/** A server with a user, a rule that names it, and its share. */
function furnish(): void {
  const { id } = home.users.add(ANN);
  home.rules.put({ path: "/films", password: "rule-password", p_sub: true, read_users: [id] });
  home.rules.put({ path: "/managed", readme: "of Mooring" });
  home.users.shares.set(SHARE.id, { ...SHARE, creator_role: 0 });
}

async function openFurnished(): Promise<void> {
  await openSites();
  furnish();
}

async function saved(): Promise<ServerContents> {
  managed.set("home", ["/managed"]);
  const { contents, failures } = await servers.read("home");
  expect(failures).toEqual([]);
  // As a backup stores it.
  return JSON.parse(JSON.stringify(contents));
}

async function restore(
  contents: ServerContents,
  dryRun = false,
  signal = new AbortController().signal,
): Promise<readonly EntryResult[]> {
  const passwords = { all: "", byName: {}, random: true };
  const options = { passwords, dryRun };
  const call = { origin: ORIGIN, signal };
  return servers.restore({ site: "home", contents }, "hut", options, call);
}

const short = (results: readonly EntryResult[]) =>
  results.map(({ list, name, outcome }) => `${list} ${name} ${outcome}`);

describe("reading", () => {
  test("has users, shares, and the rules that are not managed, with names in place of ids", async () => {
    await openFurnished();
    const contents = await saved();
    expect(contents.users?.users.map(({ name }) => name)).toEqual(["admin", "guest", "ann"]);
    expect(contents.rules).toMatchObject([
      { path: "/films", members: { password: "rule-password" }, users: { read_users: ["ann"] } },
    ]);
    expect(contents.shares).toMatchObject([
      { id: "films-2026", password: "share-password", rest: { remark: "for friends" } },
    ]);
    expect(JSON.stringify(contents)).not.toMatch(/"id":\d|creator_role/);
  });

  test("of AList has no shares and no failure", async () => {
    await openSites(ALIST);
    home.rules.put({ path: "/films" });
    expect(await saved()).toMatchObject({ rules: [{ path: "/films", users: {} }], shares: [] });
  });

  test("names each list that cannot be read, and has the others", async () => {
    await openFurnished();
    home.users.shares.set("broken", { id: 1 });
    const { contents, failures } = await servers.read("home");
    expect(failures.map(({ list }) => list)).toEqual(["shares"]);
    expect(contents.shares).toBeUndefined();
    expect(contents.rules).toHaveLength(2);
  });

  test("of a server that does not answer names all lists", async () => {
    await openSites();
    await home.stop();
    const { contents, failures } = await servers.read("home");
    expect(failures.map(({ list }) => list)).toEqual(["users", "rules", "shares"]);
    expect(contents).toEqual({});
  });

  test("ends with its caller", async () => {
    await openSites();
    await expect(servers.read("home", { signal: AbortSignal.abort() })).rejects.toThrow("abort");
  });
});

describe("a restore", () => {
  test("lists the users of a server as often for many rules as for one", async () => {
    await openSites();
    const { id } = home.users.add(ANN);
    const listed = async (count: number): Promise<number> => {
      for (let at = 0; at < count; at += 1)
        home.rules.put({ path: `/${count}/${at}`, read_users: [id] });
      const contents = await saved();
      const calls = hut.seen.length;
      await restore(contents);
      return hut.seen.slice(calls).filter(({ url }) => url.startsWith("/api/admin/user/list"))
        .length;
    };
    const once = await listed(1);
    expect(await listed(12)).toBe(once);
    expect([...hut.rules.rows.values()].map(({ read_users: users }) => users)).toEqual(
      Array(13).fill([hut.users.named("ann")?.id]),
    );
  });

  test("creates users, rules and shares in this order, with ids of the new server", async () => {
    await openFurnished();
    hut.users.add({ username: "zed" });
    const contents = await saved();
    const planned = await restore(contents, true);
    expect(hut.users.named("ann")).toBeUndefined();
    expect(hut.rules.rows.size + hut.users.shares.size).toBe(0);
    const done = await restore(contents);
    expect(short(done)).toEqual(short(planned));
    expect(short(done)).toEqual([
      "users admin skipped",
      "users guest skipped",
      "users ann created",
      "rules /films created",
      "shares films-2026 created",
    ]);
    const { id } = hut.users.named("ann") ?? {};
    expect(id).not.toBe(home.users.named("ann")?.id);
    expect(hut.rules.at("/films")).toMatchObject({ password: "rule-password", read_users: [id] });
    expect(hut.users.shares.get("films-2026")).toMatchObject(SHARE);
  });

  test("changes nothing that exists", async () => {
    await openFurnished();
    const contents = await saved();
    hut.users.add({ username: "ann", base_path: "/mine" });
    hut.rules.put({ path: "/films", readme: "mine" });
    hut.users.shares.set(SHARE.id, { ...SHARE, pwd: "mine" });
    expect(short(await restore(contents)).slice(2)).toEqual([
      "users ann kept",
      "rules /films kept",
      "shares films-2026 kept",
    ]);
    expect(hut.users.named("ann")?.base_path).toBe("/mine");
    expect(hut.rules.at("/films")?.readme).toBe("mine");
  });

  test("leaves a rule that is managed on the target to its site", async () => {
    await openFurnished();
    managed.set("hut", ["/films"]);
    const results = await restore(await saved());
    expect(short(results).slice(2)).toEqual([
      "users ann created",
      "rules /films kept",
      "shares films-2026 created",
    ]);
    expect(String(results[3]?.reason)).toMatch(/managed here/);
    expect(hut.rules.at("/films")).toBeUndefined();
  });

  test("to AList refuses shares and rules that name users", async () => {
    await openSites({}, ALIST);
    furnish();
    home.rules.put({ path: "/open", readme: "for all" });
    expect(short(await restore(await saved())).slice(2)).toEqual([
      "users ann created",
      "rules /films refused",
      "rules /open created",
      "shares films-2026 refused",
    ]);
    expect(hut.rules.at("/films")).toBeUndefined();
  });

  test("refuses a rule and a share whose user does not exist there", async () => {
    await openFurnished();
    home.rules.put({ path: "/lost", read_users: [99] });
    const { users: _users, ...contents } = await saved();
    const results = await restore(contents);
    expect(short(results)).toEqual([
      "rules /films refused",
      "rules /lost refused",
      "shares films-2026 refused",
    ]);
    expect(String(results[1]?.reason)).toContain("#99");
  });

  test("says what the server refuses, and goes on, without a secret in the reason", async () => {
    await openFurnished();
    hut.rules.hold = () => {
      throw new Error("the connection breaks");
    };
    const results = await restore(await saved());
    expect(short(results).slice(3)).toEqual(["rules /films failed", "shares films-2026 created"]);
    expect(JSON.stringify(results)).not.toMatch(/rule-password|share-password/);
  });

  test("says which rule could not be sent again, with which the server's cache is cleared", async () => {
    await openFurnished();
    home.rules.put({ path: "/second", password: "rule-password" });
    let updates = 0;
    hut.rules.hold = (stage) => {
      if (stage === "received" && hut.rules.calls.at(-1)?.call === "update") updates += 1;
      if (updates === 2) throw new Error("the connection breaks");
    };
    const rules = (await restore(await saved())).filter(({ list }) => list === "rules");
    expect(short(rules)).toEqual(["rules /films created", "rules /second created"]);
    expect(rules[0]?.notes).toEqual([]);
    expect(String(rules[1]?.notes)).toMatch(/second call that clears its cache has failed/);
    expect(JSON.stringify(rules)).not.toMatch(/rule-password/);
  });

  test("ends between two entries with its caller", async () => {
    await openFurnished();
    const contents = await saved();
    const ending = new AbortController();
    hut.rules.hold = () => ending.abort();
    const results = await restore(contents, false, ending.signal);
    expect(short(results).slice(3)).toEqual(["rules /films created", "shares films-2026 failed"]);
  });
});
