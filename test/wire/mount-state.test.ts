import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { FOLLOWING, local, rowOf, startFollowed, stateOf } from "./following.ts";
import { startService, TOKEN } from "./service.ts";
import { read } from "./transport/transport.ts";

const NO_FOLDER = "root folder /srv/gone not exists";

const one = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one }));
const admin = startedForAll(() => as(service.port));

beforeAll(async () => {
  one.storages.providers.set("Local", ({ addition }) => {
    if (addition["root_folder_path"] === "/srv/gone") throw new Error(NO_FOLDER);
  });
  one.storages.folders.set("/films", ["a.mkv", "series/"]);
  await admin.mounts.saveMounts({
    mounts: [local("films", "/srv/films"), local("gone", "/srv/gone"), local("dead", "/srv/dead")],
  });
  // Also in hooks, where expect.poll is not available.
  await vi.waitFor(async () => {
    expect(rowOf(one, "/gone")?.status).toBe(NO_FOLDER);
    for (const name of ["films", "dead"]) expect(await stateOf(admin, name)).toBe("ok");
    expect((await admin.incidents.listIncidents({})).incidents).toHaveLength(1);
  }, 60_000);
});

const statusOf = async (name: string, at = admin) =>
  (await at.mounts.getMount({ name })).mount?.status[0];

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));
  const { listMounts, getMount, watchMounts } = MountService.method;

  test("a mount whose folder does not exist is failing, also while its incident is open", async () => {
    const failing = { state: "failing", agrees: true, status: NO_FOLDER, error: NO_FOLDER };
    const mount = { name: "gone", status: [failing] };
    const { mounts } = await read(transport, listMounts);
    expect(mounts).toMatchObject([
      { name: "dead", status: [{ state: "ok" }] },
      { name: "films", status: [{ state: "ok" }] },
      mount,
    ]);
    expect(await read(transport, getMount, { name: "gone" })).toMatchObject({ mount });
    const status = (mounts as { status: JsonObject[] }[])[2]?.status[0];
    expect(status?.["remedy"]).toContain('"mooring mount sync one gone"');
    for (const time of ["since_time", "read_time"]) expect(status?.[time]).toMatch(/^2\d{3}-/);
    expect(status).not.toHaveProperty("list_time");
    if (transport.carries(watchMounts)) {
      const event = await read(transport, watchMounts);
      expect(JSON.stringify(event["mounts"])).toContain('"state":"failing"');
    }
  });
});

describe.each(sharedPortTransports)("a test over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));
  const { testMounts } = MountService.method;

  test("lists mounts now, with their first entries or the cause", async () => {
    one.storages.folders.set("/gone", "object not found");
    const { tests } = await read(transport, testMounts, { names: ["films", "gone"] });
    expect(tests).toMatchObject([
      { name: "films", site: "one", mount_path: "/films", outcome: "works", total: 2 },
      { name: "gone", site: "one", outcome: "fails" },
    ]);
    const [films, gone] = tests as JsonObject[];
    expect(films?.["entries"]).toEqual(["a.mkv", "series/"]);
    expect(gone?.["error"]).toContain("object not found");
    expect(gone?.["remedy"]).toContain('"mooring mount sync one gone"');
  });
});

/** A test during which the server holds the reply to a change, until the test waits for it. */
async function testDuringChange(name: string) {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  one.storages.hold = () => {
    reached.resolve();
    return held.promise;
  };
  const testing = admin.mounts.testMounts({ names: [name] });
  await reached.promise;
  one.storages.hold = undefined;
  held.resolve();
  return (await testing).tests;
}

test("a test right after a save waits until the site has the mount", async () => {
  one.storages.folders.set("/new", ["first.txt"]);
  await admin.mounts.saveMounts({ mounts: [local("new", "/srv/new")] });
  expect(await testDuringChange("new")).toMatchObject([
    { outcome: "works", entries: ["first.txt"], error: "" },
  ]);
});

test("a test right after a change lists the changed mount", async () => {
  one.storages.folders.set("/new", "NoSuchBucket");
  expect((await admin.mounts.testMounts({ names: ["new"] })).tests[0]?.outcome).toBe("fails");
  await admin.mounts.saveMounts({ mounts: [local("new", "/srv/changed")] });
  one.storages.folders.set("/new", ["second.txt"]);
  await testDuringChange("new");
  expect(String(rowOf(one, "/new")?.addition)).toContain("/srv/changed");
  await admin.mounts.deleteMounts({ names: ["new"] });
  await expect.poll(() => rowOf(one, "/new")).toBeUndefined();
});

test("a failed test makes the mount failing and opens an incident; a test that works ends both", async () => {
  expect(await statusOf("dead")).toMatchObject({ state: "ok", status: "work" });
  one.storages.folders.set("/dead", "NoSuchBucket");
  const { tests } = await admin.mounts.testMounts({ names: ["dead"] });
  expect(tests).toMatchObject([{ outcome: "fails" }]);
  const status = await statusOf("dead");
  expect(status).toMatchObject({ state: "failing", agrees: true, status: "work" });
  expect(status?.error).toContain("NoSuchBucket");
  expect(status?.listTime).toBeDefined();
  const open = async () =>
    (await admin.incidents.listIncidents({})).incidents.map(({ mountPath }) => mountPath);
  expect(await open()).toContain("/dead");
  one.storages.folders.delete("/dead");
  await admin.mounts.testMounts({ names: ["dead"] });
  expect(await statusOf("dead")).toMatchObject({ state: "ok" });
  expect(await open()).not.toContain("/dead");
});

test("a network error of one test makes the mount failing, although no incident opens yet", async () => {
  one.storages.folders.set("/dead", "dial tcp 192.0.2.1:443: connection refused");
  await admin.mounts.testMounts({ names: ["dead"] });
  expect(await statusOf("dead")).toMatchObject({ state: "failing" });
  one.storages.folders.delete("/dead");
  await admin.mounts.testMounts({ names: ["dead"] });
  expect(await statusOf("dead")).toMatchObject({ state: "ok" });
});

test("a test of a mount that lists although its server keeps an error says both, as the state does", async () => {
  one.storages.folders.delete("/gone");
  const { tests } = await admin.mounts.testMounts({ names: ["gone"] });
  one.storages.folders.set("/gone", "object not found");
  const status = await statusOf("gone");
  expect(status).toMatchObject({ state: "failing" });
  expect(tests).toMatchObject([{ outcome: "works" }]);
  expect(tests[0]?.error).toBe(
    `the listing works, but the server keeps the error of the last mount: ${status?.status}`,
  );
  expect(tests[0]?.remedy).toContain('"mooring mount sync one gone"');
});

test("a sync mounts a failing mount again, and says whether it works then", async () => {
  const attempts = () => one.storages.mounts.get("/gone") ?? 0;
  const before = attempts();
  const still = await admin.mounts.syncMounts({ site: "one", names: ["gone"] });
  expect(still.status).toMatchObject([{ state: "failing", agrees: true }]);
  expect(attempts()).toBe(before + 1);
  one.storages.providers.clear();
  one.storages.folders.delete("/gone");
  const now = await admin.mounts.syncMounts({ site: "one", names: ["gone"] });
  expect(now.status).toMatchObject([{ state: "ok" }]);
  expect(now.status[0]?.listTime).toBeDefined();
  await expect.poll(async () => (await admin.incidents.listIncidents({})).incidents.length).toBe(0);
});

test("a sync of a mount whose provider still refuses listings says so, although its status is work", async () => {
  one.storages.folders.set("/dead", "NoSuchBucket");
  await admin.mounts.testMounts({ names: ["dead"] });
  const mounts = one.storages.mounts.get("/dead") ?? 0;
  const { status } = await admin.mounts.syncMounts({ site: "one", names: ["dead"] });
  expect(one.storages.mounts.get("/dead")).toBe(mounts + 1);
  expect(status).toMatchObject([{ state: "failing", status: "work" }]);
  one.storages.folders.delete("/dead");
  const healed = await admin.mounts.syncMounts({ site: "one", names: ["dead"] });
  expect(healed.status).toMatchObject([{ state: "ok" }]);
});

test("requests of syncs and tests are in the audit with their caller; writes are in the log of the site", async () => {
  const { events } = await admin.audit.listAuditEvents({ methods: ["SyncMounts", "TestMounts"] });
  expect(events.length).toBeGreaterThan(2);
  for (const event of events) expect(event).toMatchObject({ actor: "admin", outcome: "OK" });
  expect(events.find(({ method }) => method === "SyncMounts")?.subjects).toEqual([
    "one",
    "mount:dead",
  ]);
  const { entries } = await admin.sites.listSiteLog({ name: "one", pageSize: 100 });
  const written = entries.filter(({ action }) => action === "mount");
  expect(written[0]).toMatchObject({ actor: "mounts", keys: ["mount:dead"] });
  expect(written[0]?.result).toBe("disable, enable");
  expect(written.map(({ keys }) => keys[0])).toContain("mount:films");
  const reader = as(service.port, (await give(admin, ["sites:read"])).text);
  const { entries: shown } = await reader.sites.listSiteLog({ name: "one", pageSize: 100 });
  expect(shown.filter(({ action }) => action === "mount")).toEqual([]);
  // A page has as many entries as asked for: its caller goes on from the last one.
  expect(entries[0]?.action).toBe("mount");
  const paged = await reader.sites.listSiteLog({ name: "one", pageSize: 1 });
  expect(paged.entries.map(({ sequence }) => sequence)).toEqual([shown[0]?.sequence]);
});

test("a path that was moved on the site is in its comparison, and is adopted without a second mount", async () => {
  const observed = await startService(FOLLOWING);
  const there = as(observed.port);
  const whole = await startWholeSite();
  try {
    await there.sites.createSite({ site: { name: "x", url: whole.url, token: whole.token() } });
    await there.mounts.saveMounts({ mounts: [local("films", "/srv/films")] });
    await there.mounts.syncMounts({ site: "x" });
    whole.storages.edit("/films", { mount_path: "/cinema" });
    const { results } = await there.mounts.compareMounts({ site: "x" });
    expect(results).toMatchObject([{ name: "films", outcome: "created" }]);
    expect(results[0]?.note).toContain("but one at /cinema");
    await expect.poll(() => stateOf(there, "films")).toBe("stuck");
    const dry = await there.mounts.adoptMounts({ site: "x", dryRun: true });
    expect(dry.results).toMatchObject([{ name: "films", outcome: "changed" }]);
    const adopted = await there.mounts.adoptMounts({ site: "x", names: ["/cinema"] });
    expect(adopted.results).toMatchObject([{ name: "films", outcome: "changed" }]);
    expect((await there.mounts.listMounts({})).mounts).toMatchObject([
      { name: "films", mountPath: "/cinema" },
    ]);
    await expect.poll(() => stateOf(there, "films")).toBe("ok");
    expect((await there.mounts.compareMounts({ site: "x" })).results).toMatchObject([
      { name: "films", outcome: "unchanged" },
    ]);
  } finally {
    await observed.stop();
    await whole.stop();
  }
});

describe("the list of incidents without an open one", () => {
  const list = async (language: string, query = "") => {
    const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/incident/list${query}`, {
      headers: { authorization: TOKEN, "accept-language": language },
    });
    return ((await reply.json()) as { data: { coverage: JsonObject } }).data.coverage;
  };

  test("says which mounts were not listed at their providers", async () => {
    await admin.mounts.saveMounts({
      mounts: [local("fresh", "/srv/fresh", { sites: { names: ["one"] } })],
    });
    await expect.poll(() => stateOf(admin, "fresh")).toBe("ok");
    const before = await list("en");
    expect(before).toMatchObject({ mounts: 4, listed: 3, unlisted: ["one /fresh"] });
    expect(before["text"]).toContain("it is unknown whether they work (1 of 4): one /fresh.");
    expect(before["text"]).toContain("MOORING_PROBE_INTERVAL=0s");
    expect((await list("zh-CN"))["text"]).toContain("没有未关闭的事件");
    await admin.mounts.testMounts({ names: ["fresh"] });
    const after = await list("en", "?site=one");
    expect(after).toMatchObject({ mounts: 4, listed: 4, unlisted: [] });
    expect(after["text"]).toMatch(
      /^There are no open incidents\. Mounts that were listed at their providers: 4 of 4/,
    );
    expect(after["oldest_list_time"]).toMatch(/^2/);
  });

  test("has no sentence while one is open", async () => {
    one.storages.folders.set("/fresh", "NoSuchBucket");
    await admin.mounts.testMounts({ names: ["fresh"] });
    expect(await list("en")).toMatchObject({ text: "" });
    one.storages.folders.delete("/fresh");
    await admin.mounts.saveMounts({ mounts: [{ name: "fresh", members: { remark: "new" } }] });
    const works = async () =>
      rowOf(one, "/fresh")?.remark === "new" &&
      (await admin.mounts.testMounts({ names: ["fresh"] })).tests[0]?.outcome === "works" &&
      // A round that ends only now removes the listing of the row as it was before.
      (await list("en"))["listed"] === 4;
    await expect.poll(works).toBe(true);
    await admin.mounts.deleteMounts({ names: ["fresh"] });
    await expect.poll(async () => (await list("en"))["mounts"]).toBe(3);
  });

  test("names sites that are not read", async () => {
    await admin.sites.updateSite({ name: "one", site: { paused: true } });
    expect(await list("en")).toMatchObject({ unread_sites: ["one"] });
    expect((await list("en"))["text"]).toContain("one is not read (paused); last time: 2");
    await admin.sites.updateSite({ name: "one", site: { paused: false } });
  });
});

test("another process shows the same states, and its tests and syncs count for all", async () => {
  const other = await startService({ ...FOLLOWING, folder: service.folder });
  try {
    const there = as(other.port);
    one.storages.folders.set("/films", "NoSuchBucket");
    const { tests } = await there.mounts.testMounts({ names: ["films"], site: "one" });
    expect(tests).toMatchObject([{ outcome: "fails" }]);
    for (const at of [admin, there])
      await expect.poll(async () => (await statusOf("films", at))?.state).toBe("failing");
    await expect
      .poll(async () => (await there.incidents.listIncidents({})).incidents.length)
      .toBe(1);
    const mounts = one.storages.mounts.get("/films") ?? 0;
    one.storages.folders.set("/films", ["a.mkv", "series/"]);
    const { status } = await there.mounts.syncMounts({ site: "one", names: ["films"] });
    expect(one.storages.mounts.get("/films")).toBe(mounts + 1);
    for (const at of [admin, there])
      await expect.poll(async () => (await statusOf("films", at))?.state).toBe("ok");
    expect(status).toHaveLength(1);
  } finally {
    await other.stop();
  }
});

describe("a test of mounts", () => {
  test("observes the scopes and limits of a token", async () => {
    const reader = (await give(admin, ["mounts:read"])).text;
    await expect(as(service.port, reader).mounts.testMounts({})).rejects.toThrow("mounts:write");
    const limited = (await give(admin, ["mounts:read", "mounts:write"], ["mount:/films"])).text;
    const { mounts } = as(service.port, limited);
    const listed = () =>
      one.storages.calls.filter(({ call }) => call === "POST /api/fs/list").length;
    const before = listed();
    await expect(mounts.testMounts({ names: ["gone"] })).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    expect(listed()).toBe(before);
    const { tests } = await mounts.testMounts({});
    expect(tests.map(({ name }) => name)).toEqual(["films"]);
  });

  test("names unknown mounts and sites", async () => {
    await expect(admin.mounts.testMounts({ names: ["filmz"] })).rejects.toThrow("films");
    await expect(admin.mounts.testMounts({ site: "ones" })).rejects.toThrow("one");
  });

  test("of a disabled mount lists nothing, and of one that the site lacks fails", async () => {
    await admin.mounts.saveMounts({ mounts: [{ name: "dead", disabled: true }] });
    await expect.poll(() => rowOf(one, "/dead")?.disabled).toBe(true);
    expect((await admin.mounts.testMounts({ names: ["dead"] })).tests).toMatchObject([
      { outcome: "disabled" },
    ]);
    await admin.mounts.saveMounts({ mounts: [{ name: "dead", disabled: false }] });
    await expect.poll(() => stateOf(admin, "dead")).toBe("ok");
  });
});

test("a mount that a user deletes on an observed site is not ok", async () => {
  const observed = await startService(FOLLOWING);
  try {
    const there = as(observed.port);
    await there.sites.createSite({ site: { name: "one", url: one.url, token: one.token() } });
    await there.mounts.adoptMounts({ site: "one" });
    await expect.poll(async () => (await statusOf("films", there))?.state).toBe("ok");
    const row = rowOf(one, "/films");
    if (row === undefined) throw new Error("no row");
    await admin.sites.updateSite({ name: "one", site: { paused: true } });
    one.storages.rows.delete(row.id);
    await expect.poll(async () => (await statusOf("films", there))?.state).toBe("differs");
    expect((await statusOf("films", there))?.error).toContain("no mount of this driver at /films");
  } finally {
    await observed.stop();
  }
});
