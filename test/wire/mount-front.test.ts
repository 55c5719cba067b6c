import { beforeAll, expect, test, vi } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { stateOf } from "./following.ts";
import { callPage, startInFrontOf } from "./upstream.ts";

const site = startedForAll(startWholeSite);
const service = startedForAll(async () => {
  await callPage(site.url, "storage/create", mount("/old", "/srv/old"), site.token());
  return startInFrontOf(site);
});
const admin = startedForAll(() => as(service.port));

beforeAll(async () => {
  await vi.waitFor(
    async () =>
      expect((await admin.mounts.compareMounts({ site: "upstream" })).results).toHaveLength(1),
    { timeout: 60_000 },
  );
});

const mount = (path: string, root: string) => ({
  mount_path: path,
  driver: "Local",
  webdav_policy: "native_proxy",
  addition: JSON.stringify({ root_folder_path: root }),
});

const names = async () => (await admin.mounts.listMounts({})).mounts.map(({ name }) => name);
/** The server's permanent token is an admin of it. */
const through = (call: string, body: object | string) =>
  callPage(`http://127.0.0.1:${service.port}`, `storage/${call}`, body, site.token());

test("changes on the server's own pages are passed on, and only the server's until its mounts were adopted", async () => {
  expect(await through("create", mount("/first", "/srv/first"))).toMatchObject({ code: 200 });
  expect(site.storages.row("/first")?.status).toBe("work");
  expect(await names()).toEqual([]);
  await admin.mounts.adoptMounts({ site: "upstream" });
  expect(await names()).toEqual(["first", "old"]);
});

test("afterwards each of them is a revision with the admin's name", async () => {
  await through("create", mount("/second", "/srv/second"));
  await expect.poll(names).toEqual(["first", "old", "second"]);
  const row = site.storages.row("/second");
  await through("update", { ...row, addition: '{"root_folder_path":"/srv/other"}' });
  const config = async () =>
    (await admin.mounts.getMount({ name: "second" })).mount?.config?.["root_folder_path"];
  await expect.poll(config).toBe("/srv/other");
  await through("disable", String(row?.id));
  await expect
    .poll(async () => (await admin.mounts.getMount({ name: "second" })).mount?.disabled)
    .toBe(true);
  await through("delete", String(row?.id));
  await expect.poll(names).toEqual(["first", "old"]);
  const { revisions } = await admin.settings.listRevisions({ pageSize: 4 });
  expect(revisions.map(({ reason }) => reason)).toEqual([
    "delete of mounts at the upstream",
    "disable of mounts at the upstream",
    "update of mounts at the upstream",
    "create of mounts at the upstream",
  ]);
  expect(new Set(revisions.map(({ actor }) => actor)).size).toBe(1);
});

test("a change by Mooring reaches the server, and is not counted as a change there", async () => {
  const before = (await admin.mounts.listMounts({})).revision;
  await admin.mounts.saveMounts({
    mounts: [{ name: "first", config: { root_folder_path: "/srv/new" } }],
  });
  await expect.poll(() => site.storages.addition("/first")["root_folder_path"]).toBe("/srv/new");
  await expect.poll(() => stateOf(admin, "first")).toBe("ok");
  expect((await admin.mounts.listMounts({})).revision).toBe(before + 1n);
});
