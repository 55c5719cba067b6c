import { beforeAll, describe, expect, test, vi } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { FOLLOWING, local, startFollowed, stateOf } from "./following.ts";
import { startService } from "./service.ts";

const NO_FOLDER = "root folder /srv/gone not exists";

const one = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one }));
const admin = startedForAll(() => as(service.port));

const site = async (at = admin) => (await at.sites.getSite({ name: "one" })).site?.status;
const note = async (): Promise<string> =>
  (await admin.status.getStatus({})).checks.find(({ name }) => name === "sites")?.note ?? "";
beforeAll(async () => {
  one.storages.providers.set("Local", ({ addition }) => {
    if (addition["root_folder_path"] === "/srv/gone") throw new Error(NO_FOLDER);
  });
  await admin.mounts.saveMounts({ mounts: [local("films", "/srv"), local("gone", "/srv/gone")] });
  await vi.waitFor(async () => {
    expect(await stateOf(admin, "films")).toBe("ok");
    expect(await stateOf(admin, "gone")).toBe("failing");
  }, 60_000);
});

test("a site with a failing mount is failing, in its list, the status and the metrics", async () => {
  await expect
    .poll(() => site())
    .toMatchObject({ state: "failing", mounts: { ok: 1, failing: 1 } });
  expect(await note()).toContain("1: 1 failing;");
  expect(await note()).toContain("mounts: 1 ok, 1 failing");
  expect(service.mooring.gauges().sites).toMatchObject([
    { state: "failing", mounts: { ok: 1, failing: 1 } },
  ]);
});

test("an observed site whose mounts differ differs, in every list", async () => {
  await admin.sites.updateSite({ name: "one", site: { mode: SiteMode.OBSERVE } });
  await admin.mounts.deleteMounts({ names: ["gone"] });
  await admin.mounts.saveMounts({ mounts: [local("films", "/srv/other")] });
  try {
    await expect.poll(() => stateOf(admin, "films")).toBe("differs");
    await expect
      .poll(() => site())
      .toMatchObject({ state: "differs", cause: "mounts: 1 differs", error: "" });
    expect((await site())?.remedy).toContain("mooring mount list --site one");
    expect(await note()).toContain("1: 1 differs;");
    expect(service.mooring.gauges().sites).toMatchObject([{ state: "differs" }]);
  } finally {
    await admin.mounts.saveMounts({
      mounts: [local("films", "/srv"), local("gone", "/srv/gone")],
    });
    await admin.sites.updateSite({ name: "one", site: { mode: SiteMode.FOLLOW } });
    await expect.poll(() => stateOf(admin, "gone")).toBe("failing");
    await expect.poll(() => stateOf(admin, "films")).toBe("ok");
  }
});

test("a paused site and its mounts wait, with the command that resumes it", async () => {
  await admin.sites.updateSite({ name: "one", site: { paused: true } });
  const [mount] = (await admin.mounts.getMount({ name: "films" })).mount?.status ?? [];
  const paused = {
    state: "waiting",
    remedy: expect.stringContaining("mooring site set one paused=false"),
  };
  expect(await site()).toMatchObject({ ...paused, cause: "paused" });
  expect(mount).toMatchObject({ ...paused, error: "paused" });
  await admin.sites.updateSite({ name: "one", site: { paused: false } });
  await expect.poll(() => stateOf(admin, "films")).toBe("ok");
});

test("another process shows the same", async () => {
  const other = await startService({ ...FOLLOWING, folder: service.folder });
  try {
    await expect
      .poll(() => site(as(other.port)))
      .toMatchObject({ state: "failing", mounts: { ok: 1, failing: 1 } });
  } finally {
    await other.stop();
  }
});

test("streams of sites get the change of a mount's state", async () => {
  const ending = new AbortController();
  const stream = admin.sites.watchSites({}, { signal: ending.signal });
  const events = stream[Symbol.asyncIterator]();
  expect((await events.next()).value?.sites[0]?.status?.state).toBe("failing");
  one.storages.providers.clear();
  await admin.mounts.syncMounts({ site: "one", names: ["gone"] });
  let state = "failing";
  while (state !== "ok") state = (await events.next()).value?.sites[0]?.status?.state ?? "";
  ending.abort();
  await events.next().catch(() => undefined);
  expect(await site()).toMatchObject({ state: "ok", mounts: { ok: 2 } });
});

describe("a server that cannot be read", () => {
  test("fails in every list as soon as its mounts fail, although its settings can be read", async () => {
    one.storages.hold = (stage) => {
      if (stage === "GET /api/admin/storage/list") throw new Error("the connection breaks");
    };
    await expect.poll(async () => (await site())?.state).toBe("failing");
    const status = await site();
    expect(status?.error).not.toBe("");
    const mount = (await admin.mounts.getMount({ name: "films" })).mount?.status[0];
    expect(mount).toMatchObject({ state: "failing", error: status?.error });
    expect(mount?.remedy).toContain('"mooring site check one"');
    one.storages.hold = undefined;
    await expect.poll(async () => (await site())?.state).toBe("ok");
    expect(await stateOf(admin, "films")).toBe("ok");
  });

  test("because its token was reset is stuck, and is read again at once with the new token", async () => {
    const before = one.token();
    const reset = await fetch(`${one.url}/api/admin/setting/reset_token`, {
      method: "POST",
      headers: { authorization: before },
    });
    expect(reset.status).toBe(200);
    await expect.poll(async () => (await site())?.state).toBe("stuck");
    await expect.poll(() => stateOf(admin, "films")).toBe("stuck");
    await admin.sites.updateSite({ name: "one", site: { token: one.token() } });
    await expect.poll(async () => (await site())?.state).toBe("ok");
    await expect.poll(() => stateOf(admin, "films")).toBe("ok");
  });
});

test("the reply of each change names sites that do not get it now", async () => {
  const save = async (at = admin) => {
    const { pendingSites } = await at.settings.saveSettings({
      settings: [{ key: "site_title", value: `title ${Math.random()}` }],
    });
    return pendingSites;
  };
  const saveMount = async (sites: string[]) => {
    const { pendingSites } = await admin.mounts.saveMounts({
      mounts: [{ ...local("late", `/srv/${Math.random()}`), sites: { names: sites } }],
    });
    return pendingSites;
  };
  // A round with the token before the reset may still be at its end.
  await expect.poll(() => save()).toEqual([]);
  expect(await saveMount(["one"])).toEqual([]);
  await admin.sites.updateSite({ name: "one", site: { paused: true } });
  expect(await save()).toMatchObject([{ site: "one", reason: "paused" }]);
  expect(await saveMount(["one"])).toMatchObject([{ site: "one", reason: "paused" }]);
  const writer = as(service.port, (await give(admin, ["settings:write"])).text);
  expect(await save(writer)).toEqual([]);
  const { settings, mounts, backup } = admin;
  const before = (await mounts.listMounts({})).revision;
  const old = { key: "old", value: "x", flag: 3 };
  const rows = [{ mount_path: "/imported", driver: "Local", addition: "{}", disabled: true }];
  const changes = [
    () => settings.saveSettings({ settings: [old] }),
    () => settings.deleteSetting({ key: "old" }),
    () =>
      backup.importArchive({
        only: ["settings"],
        document: { data: [{ key: "site_title", value: "im" }] },
      }),
    () => mounts.replaceCredential({ name: "late", item: "root_folder_path", value: "/srv/r" }),
    () =>
      backup.importArchive({
        only: ["mounts"],
        document: { storages: rows },
        sites: { names: ["one"] },
      }),
    () => mounts.deleteMounts({ names: ["late"] }),
    () => settings.rollback({ to: before }),
  ];
  for (const change of changes)
    expect((await change()).pendingSites, String(change)).toMatchObject([
      { site: "one", reason: "paused" },
    ]);
  const dry = [
    settings.rollback({ to: before - 1n, dryRun: true }),
    mounts.deleteMounts({ names: ["late"], dryRun: true }),
  ];
  for (const { pendingSites } of await Promise.all(dry)) expect(pendingSites).toEqual([]);
  await admin.sites.updateSite({ name: "one", site: { paused: false } });
  await one.stop();
  await expect.poll(async () => (await site())?.state).toBe("failing");
  // A call that the end of the site has cut off is followed by one that it refuses.
  await expect
    .poll(() => save())
    .toMatchObject([{ site: "one", reason: expect.stringContaining("refused") }]);
});
