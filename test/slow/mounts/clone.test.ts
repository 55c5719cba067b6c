import { expect, test } from "vitest";
import { IncidentClass } from "../../../gen/mooring/v1/incident_pb.js";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import type { StorageRow } from "../../../src/mounts/site/row.ts";
import { startedForAll } from "../../started.ts";
import { newFolder } from "../../store/folder.ts";
import { as } from "../../wire/access-client.ts";
import { startService } from "../../wire/service.ts";
import { type OpenList, startOpenList } from "./open-list.ts";

const harbour = startedForAll(startOpenList, 600_000);
const quay = startedForAll(startOpenList, 600_000);
const service = startedForAll(() => startService({ mountTimes: { tick: 100, read: 500 } }));
const folder = startedForAll(newFolder);

const admin = () => as(service.port);

async function rows(site: OpenList): Promise<readonly StorageRow[]> {
  const { content } = (await site.call("GET", "/api/admin/storage/list")) as {
    content: StorageRow[] | null;
  };
  return content ?? [];
}

const local = (path: string, root: string) => ({
  // The form of Local has no cache_expiration: its folders are not cached.
  mount_path: path,
  driver: "Local",
  order: 3,
  remark: "by hand",
  cache_expiration: 0,
  webdav_policy: "native_proxy",
  addition: JSON.stringify({ root_folder_path: root }),
});

test("the mounts of one server are adopted, and another one becomes its copy", async () => {
  for (const path of ["/films", "/books"])
    await harbour.call("POST", "/api/admin/storage/create", local(path, folder.path));
  const before = await rows(harbour);
  for (const [name, { url, token }] of Object.entries({ harbour, quay }))
    await admin().sites.createSite({ site: { name, url, token } });
  const { results } = await admin().mounts.adoptMounts({ site: "harbour" });
  expect(results.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
    "books created",
    "films created",
  ]);
  await admin().mounts.saveMounts({
    mounts: ["films", "books"].map((name) => ({ name, sites: { all: true } })),
  });
  const { status } = await admin().mounts.syncMounts({ site: "quay" });
  expect(status.map(({ state }) => state)).toEqual(["ok", "ok"]);
  const plain = ({ id: _id, modified: _modified, ...row }: StorageRow) => row;
  const copied = await rows(quay);
  expect(copied.map(plain).toSorted(byPath)).toEqual(before.map(plain).toSorted(byPath));
  // The first server was not written to.
  expect(await rows(harbour)).toEqual(before);
});

const byPath = (a: { mount_path?: unknown }, b: { mount_path?: unknown }): number =>
  String(a.mount_path) < String(b.mount_path) ? -1 : 1;

test("a site that follows gets a change, and a change made on it is reverted", async () => {
  await admin().sites.syncSite({ name: "quay" });
  await admin().sites.updateSite({ name: "quay", site: { mode: SiteMode.FOLLOW } });
  await admin().mounts.saveMounts({
    mounts: [{ name: "films", members: { remark: "from Mooring" } }],
  });
  const remark = async () =>
    (await rows(quay)).find(({ mount_path: path }) => path === "/films")?.["remark"];
  await expect.poll(remark).toBe("from Mooring");
  // The push has to end first: a change before its read would be part of it.
  await expect
    .poll(async () => (await admin().mounts.getMount({ name: "films" })).mount?.status)
    .toMatchObject([{}, { site: "quay", agrees: true }]);
  const row = (await rows(quay)).find(({ mount_path: path }) => path === "/films");
  await quay.call("POST", "/api/admin/storage/update", { ...row, remark: "by somebody" });
  await expect.poll(remark).toBe("from Mooring");
});

test("a mount whose folder is missing is an incident, and closes when it is restored", async () => {
  const gone = folder.at("gone");
  await admin().mounts.saveMounts({
    mounts: [
      {
        name: "broken",
        mountPath: "/broken",
        driver: "Local",
        sites: { names: ["quay"] },
        config: { root_folder_path: gone },
      },
    ],
  });
  const open = async () => (await admin().incidents.listIncidents({})).incidents;
  await expect.poll(async () => (await open()).length).toBe(1);
  expect((await open())[0]).toMatchObject({
    site: "quay",
    mountPath: "/broken",
    class: IncidentClass.CONFIGURATION,
  });
  await admin().mounts.saveMounts({
    mounts: [{ name: "broken", config: { root_folder_path: folder.path } }],
  });
  await expect.poll(async () => (await open()).length).toBe(0);
  await admin().mounts.deleteMounts({ names: ["broken"] });
  await expect
    .poll(async () => (await rows(quay)).map(({ mount_path: path }) => path).sort())
    .toEqual(["/books", "/films"]);
});
