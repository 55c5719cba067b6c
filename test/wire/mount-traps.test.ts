import { expect, test } from "vitest";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { local, startFollowed } from "./following.ts";

// Traps of the servers' API with several sites: a service with two sites that follow.

const one = startedForAll(startWholeSite);
const two = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one, two }));
const admin = startedForAll(() => as(service.port));

const writes = (site: WholeSite) =>
  site.storages.calls.filter(({ call }) => call.startsWith("POST /api/admin/storage")).length;
const isOk = async (name: string) =>
  (await admin.mounts.getMount({ name })).mount?.status.every(({ state }) => state === "ok");

test("trap 4: no site gets a credential that another one would invalidate, unless that is allowed", async () => {
  const token = (site: WholeSite) => site.storages.addition("/drive")["refresh_token"];
  const drive = {
    name: "drive",
    mountPath: "/drive",
    driver: "PikPak",
    sites: { all: true },
    config: { username: "ann", password: "p", refresh_token: "shared" },
  };
  const before = [writes(one), writes(two)];
  const dry = await admin.mounts.saveMounts({ mounts: [drive], dryRun: true });
  expect(dry.results[0]?.note).toContain("several sites would share refresh_token");
  await expect(admin.mounts.saveMounts({ mounts: [drive] })).rejects.toThrow(
    "allow_shared_credential",
  );
  // Whole rounds on both sites, which push something else.
  await admin.mounts.saveMounts({ mounts: [local("beside", "/srv")] });
  await expect.poll(() => isOk("beside")).toBe(true);
  expect([one, two].map((site) => site.storages.row("/drive"))).toEqual([undefined, undefined]);
  expect([writes(one), writes(two)]).toEqual(before.map((count) => count + 1));
  await admin.mounts.saveMounts({
    mounts: [{ ...drive, overrides: { two: { config: { refresh_token: "own" } } } }],
  });
  await expect.poll(() => isOk("drive")).toBe(true);
  expect([token(one), token(two)]).toEqual(["shared", "own"]);
  const copy = { name: "drive", newName: "again", mountPath: "/again" };
  await expect(admin.mounts.copyMount(copy)).rejects.toThrow("would share refresh_token");
  // An override of one site that would become that of the other.
  await expect(
    admin.mounts.saveMounts({ mounts: [{ name: "drive", overrides: { two: {} } }] }),
  ).rejects.toThrow("allow_shared_credential");
  await admin.mounts.deleteMounts({ names: ["drive", "beside"] });
  await expect.poll(() => one.storages.rows.size + two.storages.rows.size).toBe(0);
});

test("trap 9: paths that differ by site are overrides, which rounds, changes and adoption respect", async () => {
  await admin.mounts.saveMounts({
    mounts: [
      local("films", "/srv/films", {
        overrides: { two: { mountPath: "/kino", config: { root_folder_path: "/mnt/kino" } } },
      }),
    ],
  });
  await expect.poll(() => isOk("films")).toBe(true);
  const roots = () => [
    one.storages.addition("/films")["root_folder_path"],
    two.storages.addition("/kino")["root_folder_path"],
  ];
  expect(roots()).toEqual(["/srv/films", "/mnt/kino"]);
  expect(two.storages.row("/films")).toBeUndefined();
  const before = writes(two);
  for (const site of ["one", "two"]) {
    const { results } = await admin.mounts.compareMounts({ site });
    expect(results).toMatchObject([{ name: "films", outcome: "unchanged" }]);
  }
  // A change for all keeps the overrides of a site, and an unrelated change causes no call there.
  await admin.mounts.saveMounts({
    mounts: [{ name: "films", config: { root_folder_path: "/data/films" } }],
  });
  await expect.poll(() => one.storages.addition("/films")["root_folder_path"]).toBe("/data/films");
  await expect.poll(() => isOk("films")).toBe(true);
  expect(roots()).toEqual(["/data/films", "/mnt/kino"]);
  expect(writes(two)).toBe(before);
  // A different value of the site is adopted for that site alone.
  const { sites } = as(service.port);
  await sites.updateSite({ name: "two", site: { paused: true } });
  two.storages.writeBack("/kino", { root_folder_path: "/mnt/other" });
  await admin.mounts.adoptMounts({ site: "two" });
  expect((await admin.mounts.getMount({ name: "films" })).mount).toMatchObject({
    config: { root_folder_path: "/data/films" },
    overrides: { two: { mountPath: "/kino", config: { root_folder_path: "/mnt/other" } } },
  });
  await sites.updateSite({ name: "two", site: { paused: false } });
  await expect.poll(() => isOk("films")).toBe(true);
  expect(roots()).toEqual(["/data/films", "/mnt/other"]);
  await admin.mounts.deleteMounts({ names: ["films"] });
  await expect.poll(() => one.storages.rows.size + two.storages.rows.size).toBe(0);
});

test("an undo that gives several sites one credential says so, in its dry run too", async () => {
  const save = (sites: object) =>
    admin.mounts.saveMounts({
      mounts: [
        {
          name: "undone",
          mountPath: "/undone",
          driver: "PikPak",
          sites,
          config: { username: "ann", password: "p", refresh_token: "shared" },
        },
      ],
      allowSharedCredential: true,
    });
  const { revision } = await save({ all: true });
  await save({ names: ["one"] });
  for (const dryRun of [true, false])
    expect(
      (await admin.settings.rollback({ to: revision, only: ["undone"], dryRun })).results,
    ).toMatchObject([
      {
        key: "mount:undone",
        outcome: "changed",
        note: expect.stringContaining("would share refresh_token"),
      },
    ]);
});
