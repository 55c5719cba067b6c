import { create, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const SECRET = "pikpak-password-5f3a";
const headers = { authorization: TOKEN };

let service: TestService;
let one: WholeSite;
let two: WholeSite;

beforeAll(async () => {
  [one, two] = await Promise.all([startWholeSite(), startWholeSite()]);
  service = await startService({
    env: { MOORING_SECRET_KEY: "ab".repeat(32) },
    siteTimes: { beat: 30, look: 60 },
    mountTimes: { beat: 30, look: 60 },
  });
  for (const [name, { url, token }] of Object.entries({ one, two })) {
    await sites().createSite({ site: { name, url, token: token() } });
    await sites().syncSite({ name });
    await sites().updateSite({ name, site: { mode: SiteMode.FOLLOW } });
  }
});

afterAll(async () => {
  await service.stop();
  await Promise.all([one.stop(), two.stop()]);
});

function transport(token = TOKEN) {
  return createConnectTransport({
    ...{ baseUrl: `http://127.0.0.1:${service.port}`, httpVersion: "1.1" },
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", token);
        return next(request);
      },
    ],
  });
}
const mounts = (token?: string) => createClient(MountService, transport(token));
const sites = () => createClient(SiteService, transport());
const settings = (token?: string) => createClient(SettingService, transport(token));

const local = (name: string, root: string, more: JsonObject = {}) => ({
  name,
  mountPath: `/${name}`,
  driver: "Local",
  config: { root_folder_path: root },
  ...more,
});

const rowOf = (site: WholeSite, path: string) => site.storages.row(path);

describe("a mount", () => {
  test("reaches every site that follows, is changed and deleted there", async () => {
    const made = await mounts().saveMounts({
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
      .poll(async () => (await mounts().getMount({ name: "films" })).mount?.status)
      .toMatchObject([
        { site: "one", state: "ok" },
        { site: "two", state: "ok" },
      ]);
    await mounts().saveMounts({
      mounts: [{ name: "films", config: { root_folder_path: "/data" } }],
    });
    for (const site of [one, two])
      await expect.poll(() => site.storages.addition("/films")["root_folder_path"]).toBe("/data");
    await mounts().saveMounts({ mounts: [{ name: "films", disabled: true }] });
    for (const site of [one, two])
      await expect.poll(() => rowOf(site, "/films")?.disabled).toBe(true);
    await mounts().deleteMounts({ names: ["films"] });
    for (const site of [one, two]) await expect.poll(() => rowOf(site, "/films")).toBeUndefined();
  });

  test("is on some sites only, with values of their own", async () => {
    await mounts().saveMounts({
      mounts: [
        local("books", "/srv/books", {
          sites: { names: ["one", "two"] },
          overrides: { two: { mountPath: "/library", config: { root_folder_path: "/mnt/books" } } },
        }),
        local("own", "/srv/own", { sites: { names: ["two"] } }),
      ],
    });
    await expect.poll(() => rowOf(one, "/books")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/library")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/own")?.status).toBe("work");
    expect(two.storages.addition("/library")["root_folder_path"]).toBe("/mnt/books");
    expect(rowOf(two, "/books")).toBeUndefined();
    expect(rowOf(one, "/own")).toBeUndefined();
    await mounts().saveMounts({ mounts: [{ name: "own", sites: { names: ["one"] } }] });
    await expect.poll(() => rowOf(one, "/own")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/own")).toBeUndefined();
    await mounts().deleteMounts({ names: ["books", "own"] });
    await expect.poll(() => one.storages.rows.size + two.storages.rows.size).toBe(0);
  });

  test("is copied with its secrets, and renamed without a call to a site", async () => {
    await mounts().saveMounts({
      mounts: [
        {
          ...{ name: "cloud", mountPath: "/cloud", driver: "WebDav", sites: { names: ["one"] } },
          config: { address: "https://dav.example", username: "ann", password: SECRET },
        },
      ],
    });
    await expect.poll(() => rowOf(one, "/cloud")?.status).toBe("work");
    await mounts().copyMount({ name: "cloud", newName: "cloud2", mountPath: "/cloud2" });
    await expect.poll(() => rowOf(one, "/cloud2")?.status).toBe("work");
    expect(one.storages.addition("/cloud2")["password"]).toBe(SECRET);
    await expect
      .poll(async () => (await mounts().getMount({ name: "cloud2" })).mount?.status[0]?.state)
      .toBe("ok");
    const before = one.storages.calls.filter(({ call }) => call.startsWith("POST")).length;
    await mounts().renameMount({ name: "cloud2", newName: "copy" });
    await expect
      .poll(async () => (await mounts().getMount({ name: "copy" })).mount?.status[0]?.state)
      .toBe("ok");
    expect(one.storages.calls.filter(({ call }) => call.startsWith("POST")).length).toBe(before);
    await expect(mounts().getMount({ name: "cloud2" })).rejects.toThrow("no mount");
    await mounts().deleteMounts({ names: ["copy"] });
    await expect.poll(() => rowOf(one, "/cloud2")).toBeUndefined();
  });
});

describe("what is wrong", () => {
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
    [
      { name: "x", mountPath: "/cloud", driver: "Local", config: { root_folder_path: "/x" } },
      "is already the path of",
    ],
  ])("%j", async (mount, message) => {
    const before = (await mounts().listMounts({})).revision;
    await expect(mounts().saveMounts({ mounts: [mount as object] })).rejects.toThrow(message);
    expect((await mounts().listMounts({})).revision).toBe(before);
  });

  test("an expected revision that is not met", async () => {
    const { mount } = await mounts().getMount({ name: "cloud" });
    const save = (expectedRevision: bigint) =>
      mounts().saveMounts({
        mounts: [{ name: "cloud", disabled: false, expectedRevision }],
        dryRun: true,
      });
    await expect(save(0n)).rejects.toThrow('the mount "cloud" exists already');
    await expect(save((mount?.revision ?? 0n) - 1n)).rejects.toThrow("was changed in revision");
    await expect(save(mount?.revision ?? 0n)).resolves.toMatchObject({
      results: [{ outcome: "unchanged" }],
    });
  });

  test("one credential on several sites, unless that is said", async () => {
    const shared = {
      ...{ name: "shared", mountPath: "/shared", driver: "PikPak" },
      config: { username: "ann", password: "p", refresh_token: "once" },
    };
    const dry = await mounts().saveMounts({ mounts: [shared], dryRun: true });
    expect(dry.results[0]?.note).toContain("several sites would share refresh_token");
    await expect(mounts().saveMounts({ mounts: [shared] })).rejects.toThrow(
      "allow_shared_credential",
    );
    await mounts().saveMounts({
      mounts: [{ ...shared, overrides: { two: { config: { refresh_token: "another" } } } }],
    });
    await expect.poll(() => two.storages.addition("/shared")["refresh_token"]).toBe("another");
    await expect.poll(() => rowOf(one, "/shared")?.status).toBe("work");
    const copy = { name: "shared", newName: "again", mountPath: "/again" };
    await expect(mounts().copyMount(copy)).rejects.toThrow("would share refresh_token");
    await mounts().deleteMounts({ names: ["shared"] });
    for (const site of [one, two]) await expect.poll(() => rowOf(site, "/shared")).toBeUndefined();
  });
});

test("a credential is replaced wherever it is used, in one revision", async () => {
  const dav = (name: string, password: string, more: JsonObject = {}) => ({
    ...{ name, mountPath: `/${name}`, driver: "WebDav", sites: { names: ["one"] } },
    config: { address: "https://dav.example", username: "ann", password },
    ...more,
  });
  const password = async (name: string) =>
    (await mounts().getMount({ name, reveal: true })).mount?.config?.["password"];
  await mounts().saveMounts({
    mounts: [
      dav("d1", "shared"),
      dav("d2", "shared"),
      dav("d3", "own", { overrides: { one: { config: { password: "shared" } } } }),
    ],
  });
  const request = { name: "d1", item: "password", value: "renewed" };
  const dry = await mounts().replaceCredential({ ...request, dryRun: true });
  expect(dry.results.map(({ name }) => name)).toEqual(["d1", "d2", "d3"]);
  expect(await password("d2")).toBe("shared");
  const { revision } = await mounts().replaceCredential(request);
  expect(revision).toBe(dry.revision + 1n);
  expect([await password("d1"), await password("d2"), await password("d3")]).toEqual([
    ...["renewed", "renewed", "own"],
  ]);
  await expect.poll(() => one.storages.addition("/d2")["password"]).toBe("renewed");
  await expect.poll(() => one.storages.addition("/d3")["password"]).toBe("renewed");
  await expect(
    mounts().replaceCredential({ name: "d1", item: "nothing", value: "x" }),
  ).rejects.toThrow("has no value of nothing");
  await expect.poll(() => rowOf(one, "/d1")?.status).toBe("work");
  await mounts().deleteMounts({ names: ["d1", "d2", "d3"] });
  for (const path of ["/d1", "/d2", "/d3"])
    await expect.poll(() => rowOf(one, path)).toBeUndefined();
});

describe("a credential that a site has refreshed", () => {
  const token = (site: WholeSite) => site.storages.addition("/drive")["refresh_token"];

  test("stays when another site is given one, when the mount changes, and when a backup is read", async () => {
    await mounts().saveMounts({
      mounts: [
        {
          ...{ name: "drive", mountPath: "/drive", driver: "PikPak" },
          config: { username: "ann", password: "p", refresh_token: "one-1" },
          members: { remark: "first" },
          overrides: { two: { config: { refresh_token: "two-1" } } },
        },
      ],
    });
    const isOk = async () =>
      (await mounts().getMount({ name: "drive" })).mount?.status.every(
        ({ state }) => state === "ok",
      );
    await expect.poll(() => token(two)).toBe("two-1");
    await expect.poll(isOk).toBe(true);
    const { document } = await mounts().exportMounts({ names: ["drive"], reveal: true });
    one.storages.writeBack("/drive", { refresh_token: "one-2" });
    await mounts().saveMounts({
      mounts: [{ name: "drive", overrides: { two: { config: { refresh_token: "two-2" } } } }],
    });
    await expect.poll(() => token(two)).toBe("two-2");
    await mounts().saveMounts({ mounts: [{ name: "drive", members: { remark: "changed" } }] });
    await expect.poll(() => rowOf(one, "/drive")?.remark).toBe("changed");
    await mounts().importMounts({ document: document ?? {}, allowSharedCredential: true });
    await expect.poll(() => rowOf(one, "/drive")?.remark).toBe("first");
    await expect.poll(isOk).toBe(true);
    expect(token(one)).toBe("one-2");
    two.storages.writeBack("/drive", { refresh_token: "two-3" });
    // A new one for all sites but those with one of their own.
    await mounts().saveMounts({
      mounts: [{ name: "drive", config: { refresh_token: "one-3" } }],
      allowSharedCredential: true,
    });
    await expect.poll(() => token(one)).toBe("one-3");
    await expect.poll(isOk).toBe(true);
    expect(token(two)).toBe("two-3");
    await mounts().deleteMounts({ names: ["drive"] });
    for (const site of [one, two]) await expect.poll(() => rowOf(site, "/drive")).toBeUndefined();
  });
});

test("a sync by a process that does not follow mounts waits for the one that does", async () => {
  const other = await startService({
    folder: service.folder,
    env: { MOORING_SECRET_KEY: "ab".repeat(32) },
    siteTimes: { beat: 30, look: 60 },
    mountTimes: { beat: 30, look: 60 },
  });
  try {
    const baseUrl = `http://127.0.0.1:${other.port}`;
    const there = createClient(
      MountService,
      createConnectTransport({ baseUrl, httpVersion: "1.1" }),
    );
    await there.saveMounts(
      { mounts: [local("synced", "/s", { sites: { names: ["one"] } })] },
      { headers },
    );
    const { status } = await there.syncMounts({ site: "one", names: ["synced"] }, { headers });
    expect(status).toMatchObject([{ site: "one", state: "ok" }]);
    expect(rowOf(one, "/synced")?.status).toBe("work");
    await there.deleteMounts({ names: ["synced"] }, { headers });
    await expect.poll(() => rowOf(one, "/synced")).toBeUndefined();
  } finally {
    await other.stop();
  }
});

describe("secrets", () => {
  test("stay out of replies, history, audit, settings and log", async () => {
    const list = JSON.stringify(
      [
        await mounts().listMounts({}),
        await settings().listSettings({}),
        await settings().listRevisions({ pageSize: 100 }),
        await mounts().exportMounts({}),
        await settings().exportSettings({}),
      ],
      (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    );
    const audit = await fetch(`http://127.0.0.1:${service.port}/api/admin/audit/events`, {
      headers,
    });
    for (const text of [list, await audit.text(), service.log()]) {
      expect(text).toContain("cloud");
      expect(text).not.toContain(SECRET);
    }
    expect(list).toContain("********");
    const revealed = await mounts().getMount({ name: "cloud", reveal: true });
    expect(revealed.mount?.config?.["password"]).toBe(SECRET);
  });

  test("are no settings: neither read, changed nor deleted as such", async () => {
    for (const key of ["mount:cloud", "mount:cloud:password"]) {
      await expect(settings().getSetting({ key })).rejects.toThrow("no setting");
      await expect(settings().deleteSetting({ key })).rejects.toThrow("no setting");
      await expect(
        settings().saveSettings({ settings: [{ key, value: "x", type: "string" }] }),
      ).rejects.toThrow("reserved for mounts");
    }
  });

  test("are left by the mask, and go with null", async () => {
    await mounts().saveMounts({ mounts: [{ name: "cloud", config: { password: "********" } }] });
    const read = async () => (await mounts().getMount({ name: "cloud", reveal: true })).mount;
    expect((await read())?.config?.["password"]).toBe(SECRET);
    await mounts().saveMounts({ mounts: [{ name: "cloud", members: { remark: "r" } }] });
    expect((await read())?.members).toMatchObject({ remark: "r" });
    await mounts().saveMounts({
      mounts: [{ name: "cloud", members: { remark: null } as unknown as JsonObject }],
    });
    expect((await read())?.members).not.toHaveProperty("remark");
  });
});

describe("what a token may do", () => {
  const made = async (scopes: string[], limits: string[] = []): Promise<string> =>
    (
      await createClient(AccessService, transport()).createToken({
        ...{ principal: "p", scopes, limits, neverExpires: true },
      })
    ).secret;

  test("is said by its scopes", async () => {
    const reader = mounts(await made(["mounts:read"]));
    expect((await reader.getMount({ name: "cloud" })).mount?.config?.["password"]).toBe("********");
    await expect(reader.getMount({ name: "cloud", reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.exportMounts({ reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.deleteMounts({ names: ["cloud"] })).rejects.toThrow("mounts:write");
    const other = await made(["settings:read", "history:read"]);
    await expect(mounts(other).listMounts({})).rejects.toThrow("mounts:read");
    const { revisions } = await settings(other).listRevisions({ pageSize: 500 });
    expect(JSON.stringify(revisions.map(({ keys }) => keys))).not.toContain("mount:");
  });

  test("guesses no secret by a dry run", async () => {
    const writer = mounts(await made(["mounts:write"]));
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [{ name: "cloud", config: { password } }],
          dryRun: true,
        })
      ).results.map(({ outcome }) => outcome);
    expect(await guess(SECRET)).toEqual(await guess("wrong"));
  });

  test("keeps to the paths that it is limited to", async () => {
    await mounts().saveMounts({
      mounts: [local("inner", "/i", { mountPath: "/team/inner", sites: { names: ["one"] } })],
    });
    const limited = mounts(await made(["mounts:write"], ["mount:/team/*"]));
    expect((await limited.listMounts({})).mounts.map(({ name }) => name)).toEqual(["inner"]);
    await expect(limited.getMount({ name: "cloud" })).rejects.toThrow("limited to");
    await expect(limited.getMount({ name: "nothing" })).rejects.toThrow("limited to");
    await expect(
      limited.saveMounts({ mounts: [{ name: "inner", mountPath: "/elsewhere" }] }),
    ).rejects.toThrow("limited to");
    await expect(limited.saveMounts({ mounts: [local("x", "/x")] })).rejects.toThrow("limited to");
    await expect(limited.syncMounts({ site: "one" })).rejects.toThrow();
    await limited.saveMounts({ mounts: [{ name: "inner", disabled: true }] });
    await limited.deleteMounts({ names: ["inner"] });
    const all = mounts(await made(["mounts:read"], ["key:*"]));
    expect((await all.listMounts({})).mounts).toEqual([]);
  });
});

describe("history", () => {
  test("a set of mounts on two sites goes back as it was, and secrets stay", async () => {
    await mounts().saveMounts({
      mounts: [local("a", "/a"), local("b", "/b", { sites: { names: ["two"] } })],
    });
    const { revision } = await mounts().listMounts({});
    await mounts().saveMounts({
      mounts: [
        { name: "a", config: { root_folder_path: "/changed" } },
        { name: "cloud", config: { password: "other" }, members: { remark: "changed" } },
      ],
    });
    await mounts().deleteMounts({ names: ["b"] });
    await mounts().saveMounts({ mounts: [local("c", "/c")] });
    await expect.poll(() => rowOf(two, "/c")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/b")).toBeUndefined();
    const back = await mounts().rollbackMounts({ revision, reason: "undo" });
    expect(back.results.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
      ...["a changed", "b created", "c deleted", "cloud changed"],
    ]);
    expect(back.results.find(({ name }) => name === "cloud")?.note).toContain("password");
    await expect.poll(() => one.storages.addition("/a")["root_folder_path"]).toBe("/a");
    await expect.poll(() => rowOf(two, "/b")?.status).toBe("work");
    await expect.poll(() => rowOf(one, "/c")).toBeUndefined();
    const { mount } = await mounts().getMount({ name: "cloud", reveal: true });
    expect(mount?.config?.["password"]).toBe("other");
    expect(mount?.members).not.toHaveProperty("remark");
    await mounts().deleteMounts({ names: ["a", "b"] });
  });

  test("a rollback of settings leaves mounts alone", async () => {
    const { revision } = await mounts().listMounts({});
    await settings().saveSettings({ settings: [{ key: "site_title", value: "Other" }] });
    await mounts().saveMounts({ mounts: [local("kept", "/k", { sites: { names: ["one"] } })] });
    const { skipped } = await settings().rollback({ to: revision, keys: ["site_title"] });
    expect(skipped).toEqual([]);
    expect((await mounts().getMount({ name: "kept" })).mount?.mountPath).toBe("/kept");
    await mounts().deleteMounts({ names: ["kept"] });
  });

  test("watchers of settings see nothing of mounts", async () => {
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { event } of settings().watchSettings({}, { signal: ending.signal }))
        if (event.case === "change") seen.push(...event.value.changes.map(({ key }) => key));
    })().catch(() => undefined);
    await mounts().saveMounts({ mounts: [local("hidden", "/h", { sites: { names: ["one"] } })] });
    await mounts().deleteMounts({ names: ["hidden"] });
    await settings().saveSettings({ settings: [{ key: "site_title", value: "Seen" }] });
    await expect.poll(() => seen).toEqual(["site_title"]);
    ending.abort();
    await watching;
  });
});

describe("first contact with a server that has mounts", () => {
  test("writes nothing there, and adopts all of them as one revision", async () => {
    const third = await startWholeSite();
    const add = (path: string, addition: object) =>
      fetch(`${third.url}/api/admin/storage/create`, {
        method: "POST",
        headers: { authorization: third.token() },
        body: JSON.stringify({
          ...{ mount_path: path, driver: "Local", addition: JSON.stringify(addition) },
          ...{ order: 1, remark: "by hand", cache_expiration: 45 },
        }),
      });
    await add("/old", { root_folder_path: "/srv/old" });
    await add("/older", { root_folder_path: "/srv/older" });
    const writes = () => third.storages.calls.filter(({ call }) => call.startsWith("POST")).length;
    const before = writes();
    await sites().createSite({ site: { name: "three", url: third.url, token: third.token() } });
    await sites().syncSite({ name: "three" });
    await sites().updateSite({ name: "three", site: { mode: SiteMode.FOLLOW } });
    await mounts().saveMounts({ mounts: [local("new", "/n")] });
    await expect.poll(() => rowOf(one, "/new")?.status).toBe("work");
    const compared = await mounts().compareMounts({ site: "three" });
    expect(compared.results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      ...["cloud created", "new created", "/old skipped", "/older skipped"].filter(
        (text) => !text.startsWith("cloud"),
      ),
    ]);
    expect(writes()).toBe(before);
    const dry = await mounts().adoptMounts({ site: "three", dryRun: true });
    expect(dry.results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      ...["old created", "older created"],
    ]);
    const { revision } = await mounts().listMounts({});
    const adopted = await mounts().adoptMounts({ site: "three" });
    expect(adopted.revision).toBe(revision + 1n);
    expect((await mounts().getMount({ name: "old" })).mount).toMatchObject({
      ...{ mountPath: "/old", sites: ["three"], members: { remark: "by hand" } },
    });
    // `cache_expiration` is in no form of Local. It goes along, also to a copy, and other changes keep it.
    expect((await mounts().getMount({ name: "old" })).mount?.members).toMatchObject({
      cache_expiration: 45,
    });
    await mounts().copyMount({ name: "old", newName: "cloned", mountPath: "/cloned" });
    await mounts().saveMounts({ mounts: [{ name: "cloned", members: { remark: "copy" } }] });
    await expect.poll(() => rowOf(third, "/cloned")?.remark).toBe("copy");
    expect(rowOf(third, "/cloned")?.["cache_expiration"]).toBe(45);
    await expect(
      mounts().saveMounts({ mounts: [{ name: "cloned", members: { cache_expiration: 5 } }] }),
    ).rejects.toThrow("cache_expiration");
    const updates = third.storages.count("POST /api/admin/storage/update");
    // From now on it gets what is here, and what it has is left.
    await expect.poll(() => rowOf(third, "/new")?.status).toBe("work");
    expect(third.storages.count("POST /api/admin/storage/update")).toBe(updates);
    await mounts().deleteMounts({ names: ["new", "old", "older", "cloned"] });
    await expect.poll(() => third.storages.rows.size).toBe(0);
    await sites().deleteSite({ name: "three" });
    await third.stop();
  });
});

describe("import and export", () => {
  test("a document of one service is read by another, and by this one", async () => {
    await mounts().saveMounts({
      mounts: [local("docs", "/d", { sites: { names: ["one"] }, members: { order: 7 } })],
    });
    const { document } = await mounts().exportMounts({ names: ["docs"] });
    const names = Array.from({ length: 1_000 }, () => "docs");
    expect((await mounts().exportMounts({ names })).document).toEqual(document);
    expect(document).toMatchObject({
      storages: [{ mount_path: "/docs", driver: "Local", order: 7, disabled: false }],
    });
    await mounts().deleteMounts({ names: ["docs"] });
    const read = await mounts().importMounts({ document: document ?? {}, sites: ["one"] });
    expect(read.results).toMatchObject([{ name: "docs", outcome: "created" }]);
    expect((await mounts().getMount({ name: "docs" })).mount?.members).toMatchObject({ order: 7 });
  });

  test("secrets that a document does not have make its mounts incomplete", async () => {
    await mounts().saveMounts({
      mounts: [
        {
          ...{ name: "dav", mountPath: "/dav", driver: "WebDav", sites: { names: ["two"] } },
          config: { vendor: "other", address: "https://x", username: "u", password: "wanted-1" },
        },
        {
          ...{ name: "box", mountPath: "/box", driver: "AList V3", sites: { names: ["two"] } },
          config: { url: "https://x", password: "", token: "kept-by-nobody" },
        },
        {
          ...{ name: "open", mountPath: "/open", driver: "AList V3", sites: { names: ["two"] } },
          config: { url: "https://x", password: "" },
        },
      ],
    });
    const names = ["dav", "box", "open"];
    const statuses = () => names.map((name) => two.storages.row(`/${name}`)?.status);
    await expect.poll(statuses).toEqual(["work", "work", "work"]);
    const { document } = await mounts().exportMounts({ names });
    expect(document).toMatchObject({
      storages: [{ missing: ["password"] }, { missing: ["token"] }, {}],
    });
    expect(JSON.stringify(document)).not.toMatch(/wanted-1|kept-by-nobody/);
    const whole = await mounts().exportMounts({ names, reveal: true });
    expect(JSON.stringify(whole)).not.toContain("missing");
    await mounts().deleteMounts({ names });
    await expect.poll(statuses).toEqual([undefined, undefined, undefined]);
    const { results } = await mounts().importMounts({ document: document ?? {}, sites: ["two"] });
    expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      ...["dav created", "box created", "open created"],
    ]);
    expect(results[1]?.note).toContain("config.token: the document has no secrets");
    const box = async () => (await mounts().getMount({ name: "box" })).mount;
    expect(await box()).toMatchObject({ missing: ["config.token"], status: [{ state: "stuck" }] });
    expect((await mounts().getMount({ name: "dav" })).mount?.missing).toEqual(["config.password"]);
    expect((await mounts().getMount({ name: "open" })).mount?.missing).toEqual([]);
    await expect.poll(() => two.storages.row("/open")?.status).toBe("work");
    expect(two.storages.row("/box")).toBe(undefined);
    // Other values can be changed before the lost ones are given.
    await mounts().saveMounts({ mounts: [{ name: "dav", members: { remark: "later" } }] });
    await mounts().saveMounts({ mounts: [{ name: "box", config: { token: "new" } }] });
    await expect.poll(() => two.storages.row("/box")?.status).toBe("work");
    // Again: a mount that is there keeps its secrets.
    await mounts().importMounts({ document: document ?? {}, sites: ["two"] });
    expect(await box()).toMatchObject({ missing: [] });
    await mounts().deleteMounts({ names });
    await expect.poll(statuses).toEqual([undefined, undefined, undefined]);
  });

  test("a row that cannot be saved is named with the place of its mistake", async () => {
    const rows = [
      { mount_path: "/good", driver: "Local", addition: { root_folder_path: "/good" } },
      {
        mount_path: "/bad",
        driver: "WebDav",
        addition: { vendor: "other", address: 7, username: "u", password: "p" },
      },
    ];
    const { data } = await importRest({ storages: rows }, { dry_run: true });
    const notes = (data["results"] as { name: string; note: string }[]).map(({ note }) => note);
    expect(notes.join()).toContain("config.address is required");
    expect(notes.join()).not.toContain("mounts[");
  });

  const importRest = async (document: unknown, more: object = {}) => {
    const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/mount/import`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ document, sites: ["one"], ...more }),
    });
    return (await reply.json()) as { code: number; message: string; data: JsonObject };
  };

  test("storages.json of small tools, a list of a server, and rows that are none", async () => {
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
    await mounts().deleteMounts({ names: ["docs"] });
    await expect.poll(() => one.storages.rows.size).toBe(1);
    await expect
      .poll(async () => (await mounts().compareMounts({ site: "one" })).results.length)
      .toBe(1);
  });
});

describe.each(sharedPortTransports)("mounts over $name", ({ open }) => {
  const { listMounts, getMount, watchMounts, compareMounts } = MountService.method;

  test("are listed, read, compared and watched", async () => {
    const transport = open(service);
    const ending = new AbortController();
    try {
      const list = await transport.call(listMounts, create(listMounts.input), { headers });
      expect(list).toMatchObject({ kind: "reply", message: { mounts: [{ name: "cloud" }] } });
      const got = await transport.call(getMount, create(getMount.input, { name: "cloud" }), {
        headers,
      });
      expect(got).toMatchObject({
        kind: "reply",
        message: { mount: { config: { password: "********" }, status: [{ site: "one" }] } },
      });
      const request = create(compareMounts.input, { site: "one" });
      expect(await transport.call(compareMounts, request, { headers })).toMatchObject({
        kind: "reply",
        message: { results: [{ name: "cloud" }] },
      });
      if (!transport.carries(watchMounts)) return;
      const { signal } = ending;
      const events = transport.watch(watchMounts, create(watchMounts.input), { headers, signal });
      const { value } = await events[Symbol.asyncIterator]().next();
      expect(value).toMatchObject({ mounts: [{ name: "cloud" }] });
    } finally {
      ending.abort();
      transport.close();
    }
  });
});
