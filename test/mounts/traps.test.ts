import { afterEach, beforeEach, expect, test } from "vitest";
import { createStorageClient } from "../../src/mounts/site/client.ts";
import { sharedCredentials } from "../../src/mounts/site/item-kind.ts";
import { createSiteClient } from "../../src/sync/client.ts";
import { type Desk, driverByName, mount, openDesk, writes } from "./site/desk.ts";
import { type Storages, startStorages } from "./site/stand-in.ts";
import type { Family } from "./site/stand-in-row.ts";

let site: Storages;
let desk: Desk;

const FULL = {
  root_folder_path: "/srv/films",
  thumbnail: true,
  thumb_cache_folder: "/var/thumbs",
};

async function open(family: Family = "openlist"): Promise<void> {
  site = await startStorages(driverByName, family);
  desk = await openDesk(site);
}

beforeEach(() => open());

afterEach(async () => {
  desk.close();
  await site.stop();
});

test("trap 1: id 0 or no id is never sent", async () => {
  const raw = createSiteClient({ url: site.url, token: site.token, ca: "", pin: "" });
  const client = createStorageClient(raw);
  desk.wanted = [mount()];
  await desk.round();
  const before = structuredClone([...site.rows.values()]);
  const row = site.row("/films");
  if (row === undefined) throw new Error("it was created");
  for (const id of [0, -1, 1.5, Number.NaN, undefined as unknown as number]) {
    await expect(client.get(id)).rejects.toThrow("without an id");
    await expect(client.update({ ...row, id }, [])).rejects.toThrow("without an id");
    for (const action of ["enable", "disable", "delete"] as const)
      await expect(client.act(action, id, [])).rejects.toThrow("without an id");
  }
  // Every call in a mount's life has the id of a row.
  desk.wanted = [mount({ revision: 2, members: { order: 3 } })];
  await desk.round();
  desk.wanted = [];
  await desk.round();
  for (const { call, query, body } of site.calls) {
    if (/\/(?:get|enable|disable|delete)$/.test(call)) expect(query).toMatch(/^\?id=[1-9]\d*$/);
    if (call.endsWith("/update")) expect((body as { id: number }).id).toBeGreaterThan(0);
    if (call.endsWith("/create")) expect(body).not.toHaveProperty("id");
  }
  expect(before).toHaveLength(1);
  expect(site.rows.size).toBe(0);
  raw.close();
});

test("trap 2: an update has the complete addition of the row that was read just before", async () => {
  desk.wanted = [mount({ items: FULL })];
  await desk.round();
  // A member that is in no form, and a number that JavaScript would round.
  const text = `{"secret_number":12345678901234567890,${site.row("/films")?.addition.slice(1)}`;
  site.edit("/films", { addition: text });
  desk.wanted = [mount({ revision: 2, items: { ...FULL, thumbnail: false } })];
  // Killed before the mount ends, the raw text is left.
  const seen: string[] = [];
  site.hold = (stage) => {
    if (stage === "stored") seen.push(site.row("/films")?.addition ?? "");
  };
  await desk.round();
  const raw = seen.find((each) => each.includes("secret_number")) ?? "";
  expect(raw).toContain('"secret_number":12345678901234567890');
  for (const text of seen)
    expect(JSON.parse(text)).toMatchObject({
      root_folder_path: "/srv/films",
      thumb_cache_folder: "/var/thumbs",
    });
  expect(site.addition("/films")).toMatchObject({ ...FULL, thumbnail: false });
});

test("trap 3: a token that the server refreshes during a change is kept", async () => {
  desk.wanted = [mount({ driver: "AList V3", items: { url: "https://a.example", token: "old" } })];
  await desk.round();
  site.writeBack("/films", { token: "refreshed-1" });
  desk.wanted = [
    {
      ...mount({ driver: "AList V3", revision: 2 }),
      items: { url: "https://b.example", token: "old" },
    },
  ];
  let refreshed = 1;
  site.hold = (stage) => {
    // A new token while a driver runs, up to the call that ends it.
    if (!stage.endsWith("/disable")) return;
    refreshed += 1;
    site.writeBack("/films", { token: `refreshed-${refreshed}` });
  };
  await desk.round();
  expect(writes(site)).toEqual(["create", "disable", "update", "enable"]);
  expect(site.addition("/films")).toMatchObject({
    url: "https://b.example",
    token: "refreshed-2",
  });
});

test("trap 4: the same credential on several sites is reported before it is sent", () => {
  const items = { refresh_token: "abc", remove_way: "trash" };
  expect(sharedCredentials("AliyundriveOpen", [items, items])).toEqual(["refresh_token"]);
  expect(sharedCredentials("AliyundriveOpen", [items])).toEqual([]);
  const other = { ...items, refresh_token: "def" };
  expect(sharedCredentials("AliyundriveOpen", [items, other])).toEqual([]);
  expect(sharedCredentials("AliyundriveOpen", [items, other, items])).toEqual(["refresh_token"]);
  expect(sharedCredentials("S3", [{ access_key_id: "k" }, { access_key_id: "k" }])).toEqual([]);
});

test("trap 5: nothing is sent when nothing differs", async () => {
  desk.wanted = [mount({ items: FULL, members: { order: 7, remark: "x" } })];
  await desk.round();
  const before = site.calls.length;
  for (let round = 0; round < 3; round += 1) await desk.round();
  const later = site.calls.slice(before).map(({ call }) => call);
  // An idle round is one call of the list.
  expect(later).toEqual(Array(3).fill("GET /api/admin/storage/list"));
  expect(site.mounts.get("/films")).toBe(1);
  // A value that the driver completes is no difference: Local fills this one in.
  expect(site.addition("/films")["video_thumb_pos"]).toBe("20%");
  site.edit("/films", { order: 9 });
  await desk.round();
  expect(site.row("/films")?.order).toBe(7);
  expect(site.count("POST /api/admin/storage/load_all")).toBe(0);
});

test.each(["stored", "not stored"])(
  "trap 6: a failed create is looked up by its path before a retry (%s)",
  async (how) => {
    if (how === "stored")
      site.providers.set("AList V3", () =>
        Promise.reject(new Error("login: secret-pass is wrong")),
      );
    const wanted = mount({
      driver: how === "stored" ? "AList V3" : "No Such Driver",
      items: { url: "https://a.example/", password: "secret-pass" },
    });
    desk.wanted = [wanted];
    await desk.round();
    await desk.round({ forced: ["films"] });
    const creates = writes(site).filter((call) => call === "create").length;
    expect(creates).toBe(how === "stored" ? 1 : 2);
    expect(site.rows.size).toBe(how === "stored" ? 1 : 0);
    const state = desk.state();
    if (how === "stored") {
      expect(state).toMatchObject({ applied: 1, error: "", status: "login: ******** is wrong" });
    } else expect(state?.error).toContain("no driver named");
  },
);

test("trap 6: the id is checked by a read before each write", async () => {
  desk.wanted = [mount()];
  await desk.round();
  const id = site.row("/films")?.id ?? 0;
  desk.wanted = [mount({ revision: 2, members: { order: 1 } })];
  site.hold = (stage) => {
    // Between the list and the first write the mount is deleted, and another one takes its id.
    if (stage !== "GET /api/admin/storage/get") return;
    const row = site.rows.get(id);
    if (row) site.rows.set(id, { ...row, mount_path: "/somebody's" });
    site.hold = undefined;
  };
  await desk.round();
  expect(writes(site)).toEqual(["create"]);
  expect(site.rows.get(id)).toMatchObject({ mount_path: "/somebody's", order: 0 });
  expect(desk.state()?.error).sentence("another mount");
});

test("trap 7: a rename keeps the row, and a rename on the site makes no second mount", async () => {
  desk.wanted = [mount()];
  await desk.round();
  const id = site.row("/films")?.id;
  desk.wanted = [mount({ revision: 2, path: "/cinema" })];
  await desk.round();
  expect([...site.rows.values()]).toMatchObject([{ id, mount_path: "/cinema", status: "work" }]);
  expect([...site.live.keys()]).toEqual(["/cinema"]);
  site.edit("/cinema", { mount_path: "/moved by a user" });
  await desk.round();
  expect(site.rows.size).toBe(1);
  expect(desk.state()?.error).sentence("/moved by a user");
});

test("trap 7: a rename to an existing path leaves the mount unchanged", async () => {
  desk.wanted = [mount(), mount({ name: "other", path: "/other" })];
  await desk.round();
  desk.wanted = [mount({ revision: 2, path: "/other" })];
  const before = writes(site).length;
  desk.wanted.push(mount({ name: "other", path: "/other" }));
  await desk.round();
  expect(writes(site)).toHaveLength(before);
  expect(site.row("/films")).toMatchObject({ disabled: false, status: "work" });
  expect(desk.state()?.error).sentence("another mount at /other");
});

test.each(["openlist", "alist", "alist-3.25"] as const)(
  "trap 8: a delete whose driver cannot be stopped is verified (%s)",
  async (family) => {
    desk.close();
    await site.stop();
    await open(family);
    desk.wanted = [mount()];
    await desk.round();
    site.dropFails.add("Local");
    desk.wanted = [];
    await desk.round();
    if (family === "openlist") expect(site.rows.size).toBe(0);
    else {
      expect(site.rows.size).toBe(1);
      expect(desk.state()?.error).sentence("can't be stopped");
      expect(desk.state()?.nextTry).toBeGreaterThan(0);
    }
  },
);

test("trap 9: mounts are compared by the site's own paths", async () => {
  desk.wanted = [mount({ items: { root_folder_path: "/mnt/other-disk" }, path: "/elsewhere" })];
  await desk.round();
  const before = site.calls.length;
  await desk.round();
  expect(site.calls.length - before).toBe(1);
  expect(site.addition("/elsewhere")["root_folder_path"]).toBe("/mnt/other-disk");
});

test("trap 10: every call has the same Client-Id", async () => {
  const { createServer } = await import("node:http");
  const ids = new Set<unknown>();
  const server = createServer((request, response) => {
    ids.add(request.headers["client-id"]);
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ code: 200, message: "", data: { content: [], total: 0 } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const raw = createSiteClient({ url: `http://127.0.0.1:${port}`, token: "t", ca: "", pin: "" });
  const client = createStorageClient(raw);
  await client.list();
  await client.act("enable", 1, []);
  await client.refresh("/films");
  expect([...ids]).toEqual(["mooring"]);
  raw.close();
  await new Promise((resolve) => server.close(resolve));
});
