import { beforeAll, expect, test } from "vitest";
import { createServerService, type ServerService } from "../../../src/servers/service.ts";
import { createUserService, type UserService } from "../../../src/users/service.ts";
import { ORIGIN, startFollower } from "../../sites/follower.ts";
import { startedForAll } from "../../started.ts";
import { type OpenList, startOpenList } from "../mounts/open-list.ts";

const home = startedForAll(startOpenList, 600_000);
const hut = startedForAll(startOpenList, 600_000);
const mooring = startedForAll(startFollower);
let users: UserService;
let servers: ServerService;

const call = { origin: ORIGIN, signal: new AbortController().signal };
const one = { all: "new-password", byName: {}, random: false };

beforeAll(async () => {
  const { registry, sync, service } = mooring.sites;
  for (const [name, { url, token }] of Object.entries({ home, hut }))
    await service.create({ name, url, token }, ORIGIN);
  users = createUserService({
    registry,
    clientOf: sync.clientOf,
    store: { note: async () => undefined },
    revision: () => 1,
    now: Date.now,
    randomPassword: () => "random-password",
  });
  servers = createServerService({ registry, clientOf: sync.clientOf, users });
  const ann = { username: "ann", password: "old-password", role: 0, sso_id: "ann@sso" };
  await create(home, { ...ann, base_path: "/films", permission: (1 << 14) | 9 });
  await create(home, { username: "off", password: "x", role: 0, base_path: "/", disabled: true });
});

const create = (site: OpenList, user: object) => site.call("POST", "/api/admin/user/create", user);

async function named(site: OpenList, name: string): Promise<Record<string, unknown>> {
  const { content } = (await site.call("GET", "/api/admin/user/list")) as {
    readonly content: Record<string, unknown>[];
  };
  return content.find(({ username }) => username === name) ?? {};
}

const login = (site: OpenList, username: string, password: string) =>
  site.call("POST", "/api/auth/login", { username, password });

test("a user without logins by LDAP is copied with all members, and logs in with the new password", async () => {
  const { id } = await named(home, "ann");
  const whole = { ...(await named(home, "ann")), id, password: "", allow_ldap: false };
  await home.call("POST", "/api/admin/user/update", whole);
  const options = { names: [], update: [], dryRun: false, passwords: one };
  const results = await users.copy("home", "hut", options, call);
  expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
    "admin skipped",
    "guest skipped",
    "ann created",
    "off created",
  ]);
  expect(String(results[2]?.notes)).toContain("/films does not exist");
  expect({ ...(await named(hut, "ann")), id }).toEqual(await named(home, "ann"));
  expect(await named(hut, "off")).toMatchObject({ disabled: true });
  await login(hut, "ann", "new-password");
  const { comparisons } = await users.compare("home", "hut");
  expect(comparisons.filter(({ state }) => state !== "same")).toEqual([]);
});

test("an update replaces folder and rights, and the password stays", async () => {
  const there = await named(hut, "ann");
  await hut.call("POST", "/api/admin/user/update", { ...there, base_path: "/", permission: 1 });
  const options = { names: ["ann"], update: ["ann"], dryRun: false, passwords: one };
  expect(await users.copy("home", "hut", options, call)).toMatchObject([
    { name: "ann", outcome: "updated", differs: ["base_path", "permissions"] },
  ]);
  expect(await named(hut, "ann")).toMatchObject({ base_path: "/films", allow_ldap: false });
  await login(hut, "ann", "new-password");
});

test("what a server has beside the managed records is read and created on another one", async () => {
  const { id } = await named(home, "ann");
  const rule = { path: "/films", password: "secret", p_sub: true, read_users: [id] };
  await home.call("POST", "/api/admin/meta/create", rule);
  const share = { id: "films", files: ["/films"], creator: "ann", pwd: "p", max_accessed: 3 };
  await home.call("POST", "/api/share/create", { ...share, expires: "2035-01-01T00:00:00Z" });
  await create(hut, { username: "other", password: "x", role: 0, base_path: "/" });
  const { contents, failures } = await servers.read("home");
  expect(failures).toEqual([]);
  const saved = { site: "home", contents: JSON.parse(JSON.stringify(contents)) };
  const results = await servers.restore(saved, "hut", { dryRun: false, passwords: one }, call);
  expect(results.slice(-2)).toMatchObject([
    { list: "rules", name: "/films", outcome: "created" },
    { list: "shares", name: "films", outcome: "created" },
  ]);
  const again = await servers.read("hut");
  expect(again.contents.shares).toEqual(contents.shares);
  expect(again.contents.rules).toEqual(contents.rules);
});
