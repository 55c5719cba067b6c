import type { JsonObject } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { local, rowOf, saveCloud, startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";

const headers = { authorization: TOKEN };

const one = startedForAll(startWholeSite);
const two = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one, two }));
const admin = startedForAll(() => as(service.port));

beforeAll(() => saveCloud(admin, one));

describe("first contact with a server that has mounts", () => {
  test("writes nothing there, and adopts all of them as one revision", async () => {
    const third = await startWholeSite();
    const add = (path: string, addition: object) =>
      fetch(`${third.url}/api/admin/storage/create`, {
        method: "POST",
        headers: { authorization: third.token() },
        body: JSON.stringify({
          mount_path: path,
          driver: "Local",
          addition: JSON.stringify(addition),
          order: 1,
          remark: "by hand",
          cache_expiration: 45,
        }),
      });
    await add("/old", { root_folder_path: "/srv/old" });
    await add("/older", { root_folder_path: "/srv/older" });
    const writes = () => third.storages.calls.filter(({ call }) => call.startsWith("POST")).length;
    const before = writes();
    await admin.sites.createSite({ site: { name: "three", url: third.url, token: third.token() } });
    await admin.sites.syncSite({ name: "three" });
    await admin.sites.updateSite({ name: "three", site: { mode: SiteMode.FOLLOW } });
    await admin.mounts.saveMounts({ mounts: [local("new", "/n")] });
    await expect.poll(() => rowOf(one, "/new")?.status).toBe("work");
    const compared = await admin.mounts.compareMounts({ site: "three" });
    expect(compared.results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      ...["cloud created", "new created", "/old skipped", "/older skipped"].filter(
        (text) => !text.startsWith("cloud"),
      ),
    ]);
    expect(writes()).toBe(before);
    const dry = await admin.mounts.adoptMounts({ site: "three", dryRun: true });
    expect(dry.results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "old created",
      "older created",
    ]);
    const { revision } = await admin.mounts.listMounts({});
    const adopted = await admin.mounts.adoptMounts({ site: "three" });
    expect(adopted.revision).toBe(revision + 1n);
    expect((await admin.mounts.getMount({ name: "old" })).mount).toMatchObject({
      mountPath: "/old",
      sites: { names: ["three"] },
      members: { remark: "by hand" },
    });
    // `cache_expiration` is in no form of Local. It is kept in copies and by other changes.
    expect((await admin.mounts.getMount({ name: "old" })).mount?.members).toMatchObject({
      cache_expiration: 45,
    });
    await admin.mounts.copyMount({ name: "old", newName: "cloned", mountPath: "/cloned" });
    await admin.mounts.saveMounts({ mounts: [{ name: "cloned", members: { remark: "copy" } }] });
    await expect.poll(() => rowOf(third, "/cloned")?.remark).toBe("copy");
    expect(rowOf(third, "/cloned")?.["cache_expiration"]).toBe(45);
    await expect(
      admin.mounts.saveMounts({ mounts: [{ name: "cloned", members: { cache_expiration: 5 } }] }),
    ).rejects.toThrow("cache_expiration");
    const updates = third.storages.count("POST /api/admin/storage/update");
    // From now on Mooring's changes are pushed, and the site's other values are kept.
    await expect.poll(() => rowOf(third, "/new")?.status).toBe("work");
    expect(third.storages.count("POST /api/admin/storage/update")).toBe(updates);
    await admin.mounts.deleteMounts({ names: ["new", "old", "older", "cloned"] });
    await expect.poll(() => third.storages.rows.size).toBe(0);
    await admin.sites.deleteSite({ name: "three" });
    await third.stop();
  });
});

describe("import and export", () => {
  test("a document of one service is read by another, and by the same one", async () => {
    await admin.mounts.saveMounts({
      mounts: [local("docs", "/d", { sites: { names: ["one"] }, members: { order: 7 } })],
    });
    const { document } = await admin.mounts.exportMounts({ names: ["docs"] });
    const names = Array.from({ length: 1_000 }, () => "docs");
    expect((await admin.mounts.exportMounts({ names })).document).toEqual(document);
    expect(document).toMatchObject({
      storages: [{ mount_path: "/docs", driver: "Local", order: 7, disabled: false }],
    });
    await admin.mounts.deleteMounts({ names: ["docs"] });
    const read = await admin.backup.importArchive({
      only: ["mounts"],
      document: document ?? {},
      sites: { names: ["one"] },
    });
    expect(read.results).toMatchObject([{ name: "docs", outcome: "created" }]);
    expect((await admin.mounts.getMount({ name: "docs" })).mount?.members).toMatchObject({
      order: 7,
    });
  });

  test("secrets that a document does not have make its mounts incomplete", async () => {
    await admin.mounts.saveMounts({
      mounts: [
        {
          name: "dav",
          mountPath: "/dav",
          driver: "WebDav",
          sites: { names: ["two"] },
          config: { vendor: "other", address: "https://x", username: "u", password: "wanted-1" },
        },
        {
          name: "box",
          mountPath: "/box",
          driver: "AList V3",
          sites: { names: ["two"] },
          config: { url: "https://x", password: "", token: "kept-by-nobody" },
        },
        {
          name: "open",
          mountPath: "/open",
          driver: "AList V3",
          sites: { names: ["two"] },
          config: { url: "https://x", password: "" },
        },
      ],
    });
    const names = ["dav", "box", "open"];
    const statuses = () => names.map((name) => two.storages.row(`/${name}`)?.status);
    await expect.poll(statuses).toEqual(["work", "work", "work"]);
    const { document } = await admin.mounts.exportMounts({ names });
    expect(document).toMatchObject({
      storages: [{ missing: ["password"] }, { missing: ["token"] }, {}],
    });
    expect(JSON.stringify(document)).not.toMatch(/wanted-1|kept-by-nobody/);
    const whole = await admin.mounts.exportMounts({ names, reveal: true });
    expect(JSON.stringify(whole)).not.toContain("missing");
    await admin.mounts.deleteMounts({ names });
    await expect.poll(statuses).toEqual([undefined, undefined, undefined]);
    const { results } = await admin.backup.importArchive({
      only: ["mounts"],
      document: document ?? {},
      sites: { names: ["two"] },
    });
    expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "dav created",
      "box created",
      "open created",
    ]);
    expect(results[1]?.note).toContain("config.token: the document has no secrets");
    const box = async () => (await admin.mounts.getMount({ name: "box" })).mount;
    expect(await box()).toMatchObject({ missing: ["config.token"], status: [{ state: "stuck" }] });
    expect((await admin.mounts.getMount({ name: "dav" })).mount?.missing).toEqual([
      "config.password",
    ]);
    expect((await admin.mounts.getMount({ name: "open" })).mount?.missing).toEqual([]);
    await expect.poll(() => two.storages.row("/open")?.status).toBe("work");
    expect(two.storages.row("/box")).toBe(undefined);
    // Other values can be changed before the missing ones are set.
    await admin.mounts.saveMounts({ mounts: [{ name: "dav", members: { remark: "later" } }] });
    await admin.mounts.saveMounts({ mounts: [{ name: "box", config: { token: "new" } }] });
    await expect.poll(() => two.storages.row("/box")?.status).toBe("work");
    // Again: an existing mount keeps its secrets.
    await admin.backup.importArchive({
      only: ["mounts"],
      document: document ?? {},
      sites: { names: ["two"] },
    });
    expect(await box()).toMatchObject({ missing: [] });
    await admin.mounts.deleteMounts({ names });
    await expect.poll(statuses).toEqual([undefined, undefined, undefined]);
  });

  test("a row that cannot be saved is named with the place of its error", async () => {
    const rows = [
      { mount_path: "/good", driver: "Local", addition: { root_folder_path: "/good" } },
      {
        mount_path: "/bad",
        driver: "WebDav",
        addition: { vendor: "other", address: [], username: "u", password: "p" },
      },
    ];
    const { data } = await importRest({ storages: rows }, { dry_run: true });
    const notes = (data["results"] as { name: string; note: string }[]).map(({ note }) => note);
    expect(notes.join()).toContain("config.address is required");
    expect(notes.join()).not.toContain("mounts[");
  });

  const importRest = async (document: unknown, more: object = {}) => {
    const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/backup/import`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ document, sites: { names: ["one"] }, ...more }),
    });
    return (await reply.json()) as { code: number; message: string; data: JsonObject };
  };

  test("storages.json of small tools, a list of a server, and invalid rows are accepted or refused", async () => {
    const rows = [
      { mount_path: "/tool", driver: "Local", addition: { root_folder_path: "/tool" } },
      { mount_path: "/broken", driver: "Local", addition: "___encrypted" },
      { mount_path: "/unknown", driver: "Nothing", addition: "{}" },
      { driver: "Local" },
      { mount_path: "/docs", driver: "Local", addition: '{"root_folder_path":"/other"}' },
    ];
    const { data } = await importRest({ code: 200, data: { content: rows } }, { dry_run: true });
    const outcomes = (data["results"] as JsonObject[]).map(
      ({ name, outcome }) => `${name} ${outcome}`,
    );
    expect(outcomes.sort()).toEqual(
      [
        "tool created",
        "docs changed",
        "/broken skipped",
        "/unknown skipped",
        "row 4 skipped",
      ].sort(),
    );
    expect((await importRest("text")).code).toBe(400);
    await admin.mounts.deleteMounts({ names: ["docs"] });
    await expect.poll(() => one.storages.rows.size).toBe(1);
    await expect
      .poll(async () => (await admin.mounts.compareMounts({ site: "one" })).results.length)
      .toBe(1);
  });
});
