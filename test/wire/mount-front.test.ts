import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const site = startedForAll(startWholeSite);
let service: TestService;

beforeAll(async () => {
  await post(site.url, "create", mount("/old", "/srv/old"), site.token());
  service = await startService({
    env: { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() },
    siteTimes: { beat: 30, look: 60 },
    mountTimes: { beat: 30, look: 60 },
  });
  await vi.waitFor(
    async () => expect((await mounts.compareMounts({ site: "upstream" })).results).toHaveLength(1),
    { timeout: 60_000 },
  );
});

afterAll(() => service.stop());

const mount = (path: string, root: string) => ({
  ...{ mount_path: path, driver: "Local", webdav_policy: "native_proxy" },
  addition: JSON.stringify({ root_folder_path: root }),
});

async function post(origin: string, call: string, body: object | string, token: string) {
  const isQuery = typeof body === "string";
  const reply = await fetch(`${origin}/api/admin/storage/${call}${isQuery ? `?id=${body}` : ""}`, {
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    ...(isQuery ? {} : { body: JSON.stringify(body) }),
  });
  return (await reply.json()) as { code: number; data: { id: number } | null };
}

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
const mounts = new Proxy({} as ReturnType<typeof createClient<typeof MountService>>, {
  get: (_, name) => Reflect.get(createClient(MountService, transport()), name),
});
const names = async () => (await mounts.listMounts({})).mounts.map(({ name }) => name);
const front = () => `http://127.0.0.1:${service.port}`;
/** The server's permanent token is an admin of it. */
const through = (call: string, body: object | string) => post(front(), call, body, site.token());

test("changes on the server's own pages are passed on, and only the server's until its mounts were adopted", async () => {
  expect(await through("create", mount("/first", "/srv/first"))).toMatchObject({ code: 200 });
  expect(site.storages.row("/first")?.status).toBe("work");
  expect(await names()).toEqual([]);
  await mounts.adoptMounts({ site: "upstream" });
  expect(await names()).toEqual(["first", "old"]);
});

test("afterwards each of them is a revision with the admin's name", async () => {
  await through("create", mount("/second", "/srv/second"));
  await expect.poll(names).toEqual(["first", "old", "second"]);
  const row = site.storages.row("/second");
  await through("update", { ...row, addition: '{"root_folder_path":"/srv/other"}' });
  const config = async () =>
    (await mounts.getMount({ name: "second" })).mount?.config?.["root_folder_path"];
  await expect.poll(config).toBe("/srv/other");
  await through("disable", String(row?.id));
  await expect
    .poll(async () => (await mounts.getMount({ name: "second" })).mount?.disabled)
    .toBe(true);
  await through("delete", String(row?.id));
  await expect.poll(names).toEqual(["first", "old"]);
  const { revisions } = await createClient(SettingService, transport()).listRevisions({
    pageSize: 4,
  });
  expect(revisions.map(({ reason }) => reason)).toEqual([
    "delete of mounts at the upstream",
    "disable of mounts at the upstream",
    "update of mounts at the upstream",
    "create of mounts at the upstream",
  ]);
  expect(new Set(revisions.map(({ actor }) => actor)).size).toBe(1);
});

test("a change by Mooring reaches the server, and is not counted as a change there", async () => {
  const before = (await mounts.listMounts({})).revision;
  await mounts.saveMounts({
    mounts: [{ name: "first", config: { root_folder_path: "/srv/new" } }],
  });
  await expect.poll(() => site.storages.addition("/first")["root_folder_path"]).toBe("/srv/new");
  await expect
    .poll(async () => (await mounts.getMount({ name: "first" })).mount?.status[0]?.state)
    .toBe("ok");
  expect((await mounts.listMounts({})).revision).toBe(before + 1n);
});
