import { expect, test } from "vitest";
import type { StorageRow, WantedMount } from "../../../src/mounts/site/row.ts";
import { memoryStore, mount, openDesk } from "../../mounts/site/desk.ts";
import { startedForAll } from "../../started.ts";
import { newFolder } from "../../store/folder.ts";
import { startOpenList } from "./open-list.ts";
import { startUpstream } from "./upstream.ts";

const site = startedForAll(startOpenList, 600_000);
const upstream = startedForAll(startUpstream);
const folder = startedForAll(newFolder);
const desk = startedForAll(() => openDesk(site, { store: memoryStore() }));

async function rowAt(path: string): Promise<StorageRow | undefined> {
  const { content } = (await site.call("GET", "/api/admin/storage/list")) as {
    content: StorageRow[] | null;
  };
  return content?.find((row) => row.mount_path === path);
}

async function itemsAt(path: string): Promise<Record<string, unknown>> {
  return JSON.parse((await rowAt(path))?.addition ?? "{}") as Record<string, unknown>;
}

async function bring(...mounts: WantedMount[]): Promise<number> {
  desk.wanted = mounts;
  return (await desk.round()).done.length;
}

const local = (changes: Partial<WantedMount> = {}) =>
  mount({ items: { root_folder_path: folder.path, thumbnail: true }, ...changes });
const remote = (changes: Partial<WantedMount> = {}) =>
  mount({
    name: "remote",
    path: "/remote",
    driver: "OpenList",
    members: { remark: "kept" },
    items: { url: upstream.url, username: "ann", password: "ann-password", token: "from-mooring" },
    ...changes,
  });

test("a mount is created, changed, renamed, disabled and deleted, each by one call", async () => {
  expect(await bring(local())).toBe(1);
  expect(await rowAt("/films")).toMatchObject({ status: "work", disabled: false });
  expect(await itemsAt("/films")).toMatchObject({ thumbnail: true });
  // Values that the driver completes are no difference: nothing more is sent.
  expect(await bring(local())).toBe(0);
  expect(await bring(local({ revision: 2, members: { order: 3, remark: "new" } }))).toBe(1);
  expect(await rowAt("/films")).toMatchObject({ status: "work", order: 3, remark: "new" });
  expect(await bring(local({ revision: 3, path: "/cinema", members: { order: 3 } }))).toBe(1);
  expect(await rowAt("/cinema")).toMatchObject({ status: "work", order: 3, remark: "new" });
  expect(await rowAt("/films")).toBeUndefined();
  expect(await bring(local({ revision: 4, path: "/cinema", disabled: true }))).toBe(1);
  expect(await rowAt("/cinema")).toMatchObject({ status: "disabled", disabled: true });
  expect(await bring(local({ revision: 5, path: "/cinema" }))).toBe(1);
  expect(await rowAt("/cinema")).toMatchObject({ status: "work", disabled: false });
  expect(await bring()).toBe(1);
  expect(await rowAt("/cinema")).toBeUndefined();
});

test("a token that the server refreshes is neither compared nor overwritten", async () => {
  await bring(remote());
  expect((await itemsAt("/remote"))["token"]).toBe(upstream.token());
  upstream.expire();
  await site.call("POST", "/api/fs/list", { path: "/remote", refresh: true });
  const refreshed = upstream.token();
  expect((await itemsAt("/remote"))["token"]).toBe(refreshed);
  expect(await bring(remote())).toBe(0);
  const logins = upstream.logins;
  expect(await bring(remote({ revision: 2, members: { remark: "kept", order: 2 } }))).toBe(1);
  expect(await itemsAt("/remote")).toMatchObject({ token: refreshed, password: "ann-password" });
  // The server's token is still valid: there was no new login.
  expect(upstream.logins).toBe(logins);
  expect(await rowAt("/remote")).toMatchObject({ order: 2, remark: "kept", status: "work" });
});

test("a failed create is stored, and looked up instead of sent again", async () => {
  const base = remote({ revision: 2, members: { remark: "kept", order: 2 } });
  const wrong = mount({ name: "wrong", path: "/wrong", items: { root_folder_path: "/no/such" } });
  await bring(base, wrong);
  expect(await rowAt("/wrong")).toMatchObject({ disabled: false });
  expect((await rowAt("/wrong"))?.status).toContain("/no/such");
  expect(await bring(base, wrong)).toBe(0);
  await bring(base, { ...wrong, revision: 2, items: { root_folder_path: folder.path } });
  expect(await rowAt("/wrong")).toMatchObject({ status: "work" });
  await bring(base);
  expect(await rowAt("/wrong")).toBeUndefined();
});

test("a secret that the server transforms is sent once", async () => {
  const items = { remote_path: "/remote", password: "clear-text-1", salt: "" };
  const crypt = mount({ name: "crypt", path: "/crypt", driver: "Crypt", items });
  const base = remote({ revision: 2, members: { remark: "kept", order: 2 } });
  await bring(base, crypt);
  const scrambled = (await itemsAt("/crypt"))["password"];
  expect(scrambled).toMatch(/^___Obfuscated___/);
  expect(await bring(base, crypt)).toBe(0);
  await bring(base, { ...crypt, revision: 2, members: { order: 5 } });
  expect((await itemsAt("/crypt"))["password"]).toBe(scrambled);
  await bring(base);
});

test.each([
  ["stored as disabled while it is still served", { disabled: true }],
  ["enabled and not in memory", { disabled: false }],
])("a stuck state is resolved by the clean order: %s", async (_name, { disabled }) => {
  const wanted = local({ name: "stuck", path: "/stuck" });
  let time = Date.now();
  const other = await openDesk(site, { store: memoryStore(), now: () => time });
  other.wanted = [wanted];
  await other.round({ forced: ["stuck"] });
  const row = await rowAt("/stuck");
  if (!disabled) await site.call("POST", `/api/admin/storage/disable?id=${row?.id}`);
  // Like a program without the clean order.
  await site.call("POST", "/api/admin/storage/update", { ...row, disabled }).catch(() => undefined);
  other.wanted = [{ ...wanted, revision: 2, members: { order: 9 } }];
  await other.round({ forced: ["stuck"] });
  time += 140_000;
  await other.round({ forced: ["stuck"] });
  expect(await rowAt("/stuck")).toMatchObject({ order: 9, status: "work", disabled: false });
  expect(await site.call("POST", "/api/fs/list", { path: "/stuck", refresh: true })).toBeDefined();
  other.wanted = [];
  await other.round();
  expect(await rowAt("/stuck")).toBeUndefined();
  other.close();
});

test("a server that is killed while a mount hangs loses no member", async () => {
  const wanted = remote({ name: "hung", path: "/hung", members: { remark: "hung", order: 1 } });
  let time = Date.now();
  const store = memoryStore();
  const other = await openDesk(site, { store, limit: 700, now: () => time });
  const gate = Promise.withResolvers<void>();
  upstream.hang = gate.promise;
  other.wanted = [wanted];
  await other.round({ forced: ["hung"] });
  expect(await rowAt("/hung")).toMatchObject({ status: "", remark: "hung" });
  gate.resolve();
  upstream.hang = undefined;
  await site.kill();
  time += 20_000;
  await other.round();
  expect(await rowAt("/hung")).toMatchObject({ status: "work", remark: "hung", order: 1 });
  expect(await itemsAt("/hung")).toMatchObject({ username: "ann", password: "ann-password" });
  expect(other.state("hung")).toMatchObject({ phase: "", error: "" });
  other.wanted = [];
  await other.round();
  other.close();
});

test("two hundred mounts are created in one round, and a change of one is one update", async () => {
  const many = Array.from({ length: 200 }, (_each, at) =>
    local({ name: `m${at}`, path: `/many/${at}` }),
  );
  const other = await openDesk(site, { store: memoryStore() });
  other.wanted = many;
  expect((await other.round({ forced: ["m0"] })).done).toHaveLength(200);
  const [first = local(), ...rest] = many;
  other.wanted = [{ ...first, revision: 2, members: { order: 1 } }, ...rest];
  expect((await other.round()).done).toMatchObject([{ steps: ["disable", "update", "enable"] }]);
  expect((await rowAt("/many/199"))?.status).toBe("work");
  expect(await rowAt("/many/0")).toMatchObject({ order: 1, status: "work" });
  other.close();
});
