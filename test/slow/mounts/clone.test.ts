import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IncidentClass } from "../../../gen/mooring/v1/incident_pb.js";
import { IncidentService } from "../../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../../gen/mooring/v1/mount_service_pb.js";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../../gen/mooring/v1/site_service_pb.js";
import type { StorageRow } from "../../../src/mounts/site/row.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";
import { type OpenList, startOpenList } from "./open-list.ts";

let harbour: OpenList;
let quay: OpenList;
let service: TestService;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-cloned-"));
  harbour = await startOpenList();
  quay = await startOpenList();
  service = await startService({ mountTimes: { beat: 100, look: 500 } });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await Promise.all([harbour?.close(), quay?.close()]);
  if (folder !== undefined) await rm(folder, { recursive: true });
});

const transport = () =>
  createConnectTransport({
    ...{ baseUrl: `http://127.0.0.1:${service.port}`, httpVersion: "1.1" },
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", TOKEN);
        return next(request);
      },
    ],
  });
const mounts = () => createClient(MountService, transport());
const sites = () => createClient(SiteService, transport());

async function rows(site: OpenList): Promise<readonly StorageRow[]> {
  const { content } = (await site.call("GET", "/api/admin/storage/list")) as {
    content: StorageRow[] | null;
  };
  return content ?? [];
}

const local = (path: string, root: string) => ({
  // The form of Local has no cache_expiration: its folders are not cached.
  ...{ mount_path: path, driver: "Local", order: 3, remark: "by hand", cache_expiration: 0 },
  ...{ webdav_policy: "native_proxy", addition: JSON.stringify({ root_folder_path: root }) },
});

test("the mounts of one server are adopted, and another one becomes its copy", async () => {
  for (const path of ["/films", "/books"])
    await harbour.call("POST", "/api/admin/storage/create", local(path, folder));
  const before = await rows(harbour);
  for (const [name, { url, token }] of Object.entries({ harbour, quay }))
    await sites().createSite({ site: { name, url, token } });
  const { results } = await mounts().adoptMounts({ site: "harbour" });
  expect(results.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
    ...["books created", "films created"],
  ]);
  await mounts().saveMounts({
    mounts: ["films", "books"].map((name) => ({ name, sites: { names: [] } })),
  });
  const { status } = await mounts().syncMounts({ site: "quay" });
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
  await sites().syncSite({ name: "quay" });
  await sites().updateSite({ name: "quay", site: { mode: SiteMode.FOLLOW } });
  await mounts().saveMounts({ mounts: [{ name: "films", members: { remark: "from Mooring" } }] });
  const remark = async () =>
    (await rows(quay)).find(({ mount_path: path }) => path === "/films")?.["remark"];
  await expect.poll(remark).toBe("from Mooring");
  const row = (await rows(quay)).find(({ mount_path: path }) => path === "/films");
  await quay.call("POST", "/api/admin/storage/update", { ...row, remark: "by somebody" });
  await expect.poll(remark).toBe("from Mooring");
});

test("a mount whose folder is missing is an incident, and closes when it is restored", async () => {
  const gone = join(folder, "gone");
  await mounts().saveMounts({
    mounts: [
      {
        ...{ name: "broken", mountPath: "/broken", driver: "Local", sites: { names: ["quay"] } },
        config: { root_folder_path: gone },
      },
    ],
  });
  const open = async () =>
    (await createClient(IncidentService, transport()).listIncidents({})).incidents;
  await expect.poll(async () => (await open()).length).toBe(1);
  expect((await open())[0]).toMatchObject({
    ...{ site: "quay", mountPath: "/broken", class: IncidentClass.CONFIGURATION },
  });
  await mounts().saveMounts({
    mounts: [{ name: "broken", config: { root_folder_path: folder } }],
  });
  await expect.poll(async () => (await open()).length).toBe(0);
  await mounts().deleteMounts({ names: ["broken"] });
  await expect
    .poll(async () => (await rows(quay)).map(({ mount_path: path }) => path).sort(), {
      timeout: 20_000,
    })
    .toEqual(["/books", "/films"]);
});
