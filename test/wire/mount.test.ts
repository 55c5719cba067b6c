import { describe, expect, onTestFinished, test } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import {
  dav,
  FOLLOWING,
  local,
  rowOf,
  SECRET,
  saveCloud,
  startFollowed,
  stateOf,
} from "./following.ts";
import { startService } from "./service.ts";
import { read } from "./transport/transport.ts";

const one = startedForAll(startWholeSite);
const two = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one, two }));
const admin = startedForAll(() => as(service.port));

describe("a mount", () => {
  test("is created, changed and deleted on every site that follows", async () => {
    const made = await admin.mounts.saveMounts({
      mounts: [local("films", "/srv/films", { members: { remark: "all films", order: 3 } })],
      reason: "films for all",
    });
    expect(made.results).toMatchObject([{ name: "films", outcome: "created" }]);
    for (const site of [one, two]) {
      await expect.poll(() => rowOf(site, "/films")?.status).toBe("work");
      expect(rowOf(site, "/films")).toMatchObject({ remark: "all films", order: 3 });
      expect(site.storages.addition("/films")).toMatchObject({ root_folder_path: "/srv/films" });
    }
    await expect
      .poll(async () => (await admin.mounts.getMount({ name: "films" })).mount?.status)
      .toMatchObject([
        { site: "one", state: "ok" },
        { site: "two", state: "ok" },
      ]);
    await admin.mounts.saveMounts({
      mounts: [{ name: "films", config: { root_folder_path: "/data" } }],
    });
    for (const site of [one, two])
      await expect.poll(() => site.storages.addition("/films")["root_folder_path"]).toBe("/data");
    await admin.mounts.saveMounts({ mounts: [{ name: "films", disabled: true }] });
    for (const site of [one, two])
      await expect.poll(() => rowOf(site, "/films")?.disabled).toBe(true);
    await admin.mounts.deleteMounts({ names: ["films"] });
    for (const site of [one, two]) await expect.poll(() => rowOf(site, "/films")).toBeUndefined();
  });

  // With overrides: mount-traps.test.ts.
  test("is on some sites only", async () => {
    await admin.mounts.saveMounts({
      mounts: [local("own", "/srv/own", { sites: { names: ["two"] } })],
    });
    await expect.poll(() => rowOf(two, "/own")?.status).toBe("work");
    expect(rowOf(one, "/own")).toBeUndefined();
    await admin.mounts.saveMounts({ mounts: [{ name: "own", sites: { names: ["one"] } }] });
    await expect.poll(() => rowOf(one, "/own")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/own")).toBeUndefined();
    await admin.mounts.deleteMounts({ names: ["own"] });
    await expect.poll(() => one.storages.rows.size + two.storages.rows.size).toBe(0);
  });

  test("is copied with its secrets, and renamed without a call to a site", async () => {
    await saveCloud(admin, one);
    await admin.mounts.copyMount({ name: "cloud", newName: "cloud2", mountPath: "/cloud2" });
    await expect.poll(() => rowOf(one, "/cloud2")?.status).toBe("work");
    expect(one.storages.addition("/cloud2")["password"]).toBe(SECRET);
    await expect.poll(() => stateOf(admin, "cloud2")).toBe("ok");
    const before = one.storages.calls.filter(({ call }) => call.startsWith("POST")).length;
    await admin.mounts.renameMount({ name: "cloud2", newName: "copy" });
    await expect.poll(() => stateOf(admin, "copy")).toBe("ok");
    expect(one.storages.calls.filter(({ call }) => call.startsWith("POST")).length).toBe(before);
    await expect(admin.mounts.getMount({ name: "cloud2" })).rejects.toThrow("no mount");
    await admin.mounts.deleteMounts({ names: ["copy"] });
    await expect.poll(() => rowOf(one, "/cloud2")).toBeUndefined();
  });
});

describe("an invalid save", () => {
  test.each([
    [{ name: "a b" }, "mounts[0].name must have"],
    [{ name: "x", mountPath: "/x" }, "mounts[0].driver is missing"],
    [{ name: "x", mountPath: "/x", driver: "Lokal" }, 'Did you mean "Local"?'],
    [{ name: "x", driver: "Local" }, "mounts[0].mount_path is missing"],
    [
      { name: "x", mountPath: "/x", driver: "Local", config: { root_folder_path: 5 } },
      "mounts[0].config.root_folder_path must be text",
    ],
    [
      { name: "x", mountPath: "/x", driver: "Local", config: { rot: "x" } },
      "mounts[0].config.rot is not an item of this driver",
    ],
    [
      { name: "x", mountPath: "/x", driver: "S3", config: {} },
      "mounts[0].config.bucket is required",
    ],
    [
      { ...local("x", "/x"), members: { order: "first" } },
      "mounts[0].members.order must be a whole number",
    ],
    [
      { ...local("x", "/x"), overrides: { one: { config: { root_folder_path: 1 } } } },
      "mounts[0].overrides.one.config.root_folder_path must be text",
    ],
    [{ ...local("x", "/x"), mountPath: "/cloud" }, "is already the path of"],
  ])("%j", async (mount, message) => {
    const before = (await admin.mounts.listMounts({})).revision;
    await expect(admin.mounts.saveMounts({ mounts: [mount as object] })).rejects.toThrow(message);
    expect((await admin.mounts.listMounts({})).revision).toBe(before);
  });

  test("has an outdated expected etag", async () => {
    const { mount } = await admin.mounts.getMount({ name: "cloud" });
    const save = (expectedEtag: string) =>
      admin.mounts.saveMounts({
        mounts: [{ name: "cloud", disabled: false, expectedEtag }],
        dryRun: true,
      });
    await expect(save("0")).rejects.toThrow('the mount "cloud" exists already');
    await expect(save(`${mount?.revision}.0123456789abcdef`)).rejects.toThrow(
      "was changed in revision",
    );
    await expect(save(mount?.etag ?? "")).resolves.toMatchObject({
      results: [{ outcome: "unchanged" }],
    });
  });
});

test("a save names the sites that do not have the driver, also as a dry run", async () => {
  const share = { name: "share", mountPath: "/share", driver: "BaiduShare" };
  const mounts = [{ ...share, config: { surl: "abc", pwd: "a1b2" }, sites: { names: ["one"] } }];
  for (const dryRun of [true, false]) {
    const { results } = await admin.mounts.saveMounts({ mounts, dryRun });
    expect(results[0]?.note).toContain("the site one (openlist) has no driver BaiduShare");
  }
  await admin.mounts.deleteMounts({ names: ["share"] });
});

test("a credential is replaced wherever it is used, in one revision", async () => {
  const sites = { names: ["one"] };
  const password = async (name: string) =>
    (await admin.mounts.getMount({ name, reveal: true })).mount?.config?.["password"];
  await admin.mounts.saveMounts({
    mounts: [
      dav("d1", "shared", { sites }),
      dav("d2", "shared", { sites }),
      dav("d3", "own", { sites, overrides: { one: { config: { password: "shared" } } } }),
    ],
  });
  const request = { name: "d1", item: "password", value: "renewed" };
  const dry = await admin.mounts.replaceCredential({ ...request, dryRun: true });
  expect(dry.results.map(({ name }) => name)).toEqual(["d1", "d2", "d3"]);
  expect(await password("d2")).toBe("shared");
  const { revision } = await admin.mounts.replaceCredential(request);
  expect(revision).toBe(dry.revision + 1n);
  expect([await password("d1"), await password("d2"), await password("d3")]).toEqual([
    "renewed",
    "renewed",
    "own",
  ]);
  await expect.poll(() => one.storages.addition("/d2")["password"]).toBe("renewed");
  await expect.poll(() => one.storages.addition("/d3")["password"]).toBe("renewed");
  await expect(
    admin.mounts.replaceCredential({ name: "d1", item: "nothing", value: "x" }),
  ).rejects.toThrow("has no value of nothing");
  await expect.poll(() => rowOf(one, "/d1")?.status).toBe("work");
  await admin.mounts.deleteMounts({ names: ["d1", "d2", "d3"] });
  for (const path of ["/d1", "/d2", "/d3"])
    await expect.poll(() => rowOf(one, path)).toBeUndefined();
});

describe("a credential that a site has refreshed", () => {
  const token = (site: WholeSite) => site.storages.addition("/drive")["refresh_token"];

  test("is kept when another site gets one, when the mount changes, and when a backup is imported", async () => {
    await admin.mounts.saveMounts({
      mounts: [
        {
          name: "drive",
          mountPath: "/drive",
          driver: "PikPak",
          sites: { all: true },
          config: { username: "ann", password: "p", refresh_token: "one-1" },
          members: { remark: "first" },
          overrides: { two: { config: { refresh_token: "two-1" } } },
        },
      ],
    });
    const isOk = async () =>
      (await admin.mounts.getMount({ name: "drive" })).mount?.status.every(
        ({ state }) => state === "ok",
      );
    await expect.poll(() => token(two)).toBe("two-1");
    await expect.poll(isOk).toBe(true);
    const { document } = await admin.mounts.exportMounts({ names: ["drive"], reveal: true });
    one.storages.writeBack("/drive", { refresh_token: "one-2" });
    await admin.mounts.saveMounts({
      mounts: [{ name: "drive", overrides: { two: { config: { refresh_token: "two-2" } } } }],
    });
    await expect.poll(() => token(two)).toBe("two-2");
    await admin.mounts.saveMounts({ mounts: [{ name: "drive", members: { remark: "changed" } }] });
    await expect.poll(() => rowOf(one, "/drive")?.remark).toBe("changed");
    await admin.backup.importArchive({
      only: ["mounts"],
      document: document ?? {},
      allowSharedCredential: true,
    });
    await expect.poll(() => rowOf(one, "/drive")?.remark).toBe("first");
    await expect.poll(isOk).toBe(true);
    expect(token(one)).toBe("one-2");
    two.storages.writeBack("/drive", { refresh_token: "two-3" });
    // A new one for all sites except those with an override.
    await admin.mounts.saveMounts({
      mounts: [{ name: "drive", config: { refresh_token: "one-3" } }],
      allowSharedCredential: true,
    });
    await expect.poll(() => token(one)).toBe("one-3");
    await expect.poll(isOk).toBe(true);
    expect(token(two)).toBe("two-3");
    await admin.mounts.deleteMounts({ names: ["drive"] });
    for (const site of [one, two]) await expect.poll(() => rowOf(site, "/drive")).toBeUndefined();
  });
});

test("a sync by a process that does not follow mounts waits for the one that does", async () => {
  const other = await startService({ ...FOLLOWING, folder: service.folder });
  onTestFinished(other.stop);
  const remote = as(other.port).mounts;
  await remote.saveMounts({ mounts: [local("synced", "/s", { sites: { names: ["one"] } })] });
  const { status } = await remote.syncMounts({ site: "one", names: ["synced"] });
  expect(status).toMatchObject([{ site: "one", state: "ok" }]);
  expect(rowOf(one, "/synced")?.status).toBe("work");
  await remote.deleteMounts({ names: ["synced"] });
  await expect.poll(() => rowOf(one, "/synced")).toBeUndefined();
});

describe.each(sharedPortTransports)("mounts over $name", ({ open }) => {
  const { listMounts, getMount, watchMounts, compareMounts } = MountService.method;

  const transport = startedForAll(() => open(service));

  test("are listed, read, compared and watched", async () => {
    expect(await read(transport, listMounts)).toMatchObject({ mounts: [{ name: "cloud" }] });
    expect(await read(transport, getMount, { name: "cloud" })).toMatchObject({
      mount: { config: { password: "********" }, status: [{ site: "one" }] },
    });
    expect(await read(transport, compareMounts, { site: "one" })).toMatchObject({
      results: [{ name: "cloud" }],
    });
    if (transport.carries(watchMounts))
      expect(await read(transport, watchMounts)).toMatchObject({ mounts: [{ name: "cloud" }] });
  });
});
