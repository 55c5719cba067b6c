import type { JsonObject } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";

const SECRET = "dav-password-77c1";

const service = startedForAll(() =>
  startService({
    siteTimes: { beat: 30, look: 60 },
    mountTimes: { beat: 30, look: 60 },
  }),
);
const site = startedForAll(startWholeSite);

beforeAll(async () => {
  const { sites } = as(service.port);
  await sites.createSite({ site: { name: "harbour", url: site.url, token: site.token() } });
  await sites.syncSite({ name: "harbour" });
  await sites.updateSite({ name: "harbour", site: { mode: SiteMode.FOLLOW } });
});

const transport = (token: string) =>
  createConnectTransport({
    ...{ baseUrl: `http://127.0.0.1:${service.port}`, httpVersion: "1.1" },
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", token);
        return next(request);
      },
    ],
  });
const mounts = (token: string = TOKEN) => createClient(MountService, transport(token));
const settings = () => createClient(SettingService, transport(TOKEN));

const dav = (name: string, password: string) => ({
  ...{ name, mountPath: `/${name}`, driver: "WebDav", sites: { names: ["nowhere"] } },
  config: { address: "https://dav.example", username: "ann", password },
});
const local = (name: string, path: string, names: string[]) => ({
  ...{ name, mountPath: path, driver: "Local", sites: { names } },
  config: { root_folder_path: "/srv" },
});

describe("without mounts:reveal a reply does not reveal whether a secret equals the sent value", () => {
  test("in the names of changed members of a save", async () => {
    await mounts().saveMounts({ mounts: [dav("vault", SECRET)] });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [
            {
              name: "vault",
              config: { password },
              overrides: { quay: { config: { password } } },
            },
          ],
          dryRun: true,
        })
      ).results.map(({ outcome, differs }) => ({ outcome, differs }));
    const right = await guess(SECRET);
    expect(right).toEqual(await guess("wrong"));
    expect(right).toMatchObject([{ outcome: "changed", differs: ["password", "overrides.quay"] }]);
  });

  test("in an override that has the same value", async () => {
    await mounts().saveMounts({
      mounts: [{ name: "vault", overrides: { quay: { config: { password: "own-1" } } } }],
    });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [{ name: "vault", overrides: { quay: { config: { password } } } }],
          dryRun: true,
        })
      ).results.map(({ outcome, differs }) => ({ outcome, differs }));
    expect(await guess("own-1")).toEqual(await guess("wrong"));
  });

  test("in the note about a credential that sites would share", async () => {
    const pikpak = {
      ...{ name: "drive", mountPath: "/drive", driver: "PikPak" },
      sites: { names: ["harbour", "quay"] },
      config: { username: "ann", password: "p", refresh_token: "token-of-all" },
      overrides: { quay: { config: { refresh_token: "token-of-quay" } } },
    };
    const quay = await startWholeSite();
    await as(service.port).sites.createSite({
      site: { name: "quay", url: quay.url, token: quay.token() },
    });
    await mounts().saveMounts({ mounts: [pikpak] });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const toAll = (value: string) => ({ name: "drive", config: { refresh_token: value } });
    const toQuay = (value: string) => ({
      ...{ name: "drive", overrides: { quay: { config: { refresh_token: value } } } },
    });
    const results = async (input: object) =>
      (await writer.saveMounts({ mounts: [input], dryRun: true })).results;
    expect(await results(toAll("token-of-quay"))).toEqual(await results(toAll("wrong")));
    expect(await results(toQuay("token-of-all"))).toEqual(await results(toQuay("wrong")));
    // A guess that is stored first is compared no more than a sent one.
    await writer.saveMounts({ mounts: [toAll("token-of-quay")] });
    const members = { name: "drive", members: { remark: "r" } };
    expect((await results(members))[0]?.note).toBe("");
    // Consequences of the places of values are reported, and everything is to callers who may read
    // it.
    expect((await results({ name: "drive", overrides: { quay: {} } }))[0]?.note).toContain(
      "would share refresh_token",
    );
    expect((await results({ ...toAll("same"), ...toQuay("same") }))[0]?.note).toContain(
      "would share refresh_token",
    );
    const both = mounts((await give(as(service.port), ["mounts:write", "mounts:reveal"])).text);
    await mounts().saveMounts({ mounts: [toAll("token-of-all")] });
    const reply = await both.saveMounts({ mounts: [toQuay("token-of-all")], dryRun: true });
    expect(reply.results[0]?.note).toContain("would share refresh_token");
    await mounts().deleteMounts({ names: ["drive"] });
    await as(service.port).sites.deleteSite({ name: "quay" });
    await quay.stop();
  });

  test("in the names of mounts with an equal one", async () => {
    await mounts().saveMounts({ mounts: [dav("mine", "a-guess")] });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const request = { name: "mine", item: "password", value: "new", dryRun: true };
    await expect(writer.replaceCredential(request)).rejects.toThrow("mounts:reveal");
    // A member that is not secret is replaced without it.
    const { results } = await writer.replaceCredential({
      ...{ name: "mine", item: "username", value: "bob", dryRun: true },
    });
    expect(results.map(({ name }) => name)).toEqual(["mine", "vault"]);
    const both = mounts((await give(as(service.port), ["mounts:write", "mounts:reveal"])).text);
    expect((await both.replaceCredential(request)).results.map(({ name }) => name)).toEqual([
      "mine",
    ]);
    await mounts().deleteMounts({ names: ["mine", "vault"] });
  });
});

test("a path in use is reported at its own mount, after other invalid ones", async () => {
  await mounts().saveMounts({ mounts: [local("first", "/taken", ["nowhere"])] });
  const save = mounts().saveMounts({
    mounts: [
      { ...local("wrong", "/w", []), driver: "Lokal" },
      local("second", "/taken", ["nowhere"]),
    ],
  });
  const error = ConnectError.from(await save.catch((failure: unknown) => failure));
  const [details] = error.findDetails(BadRequestSchema);
  expect(details?.fieldViolations.map(({ field }) => field)).toEqual([
    "mounts[0].driver",
    "mounts[1].mount_path",
  ]);
  await mounts().deleteMounts({ names: ["first"] });
});

describe("a rollback", () => {
  test("restores no mount to a path that another one has now", async () => {
    const made = await mounts().saveMounts({ mounts: [local("gone", "/here", ["nowhere"])] });
    await mounts().deleteMounts({ names: ["gone"] });
    await mounts().saveMounts({ mounts: [local("newer", "/here", ["nowhere"])] });
    const back = (names: string[]) =>
      mounts().rollbackMounts({ revision: made.revision, names, dryRun: true });
    await expect(back(["gone"])).rejects.toThrow(
      'gone: its path is already used by the mount "newer"',
    );
    // Both together are restored.
    expect(
      (await back([])).results.map(({ name, outcome }) => `${name} ${outcome}`).sort(),
    ).toEqual(["gone created", "newer deleted"]);
    await mounts().deleteMounts({ names: ["newer"] });
  });

  test("is not refused because of concurrent saves of settings and mounts", async () => {
    const nowhere = (name: string, root: string) => ({
      ...local(name, `/${name}`, ["nowhere"]),
      config: { root_folder_path: root },
    });
    const names = ["kept", "busy"];
    const made = await mounts().saveMounts({ mounts: names.map((name) => nowhere(name, "/a")) });
    let isRunning = true;
    const savers = [
      (at: number) => settings().saveSettings({ settings: [{ key: "logo", value: `${at}` }] }),
      (at: number) => mounts().saveMounts({ mounts: [nowhere("busy", `/${at}`)] }),
      (at: number) => mounts().saveMounts({ mounts: [nowhere(`late-${at % 3}`, `/${at}`)] }),
    ].map(async (save) => {
      for (let at = 1; isRunning; at += 1) await save(at);
    });
    const root = async (name: string) =>
      (await mounts().getMount({ name })).mount?.config?.["root_folder_path"];
    try {
      for (let at = 0; at < 10; at += 1) {
        await mounts().saveMounts({ mounts: [nowhere("kept", "/b")] });
        await mounts().rollbackMounts({ revision: made.revision });
        expect(await root("kept")).toBe("/a");
      }
    } finally {
      isRunning = false;
      await Promise.all(savers);
    }
    // Without a conflict all later changes are undone, too.
    await mounts().rollbackMounts({ revision: made.revision });
    expect(await root("busy")).toBe("/a");
    const { mounts: left } = await mounts().listMounts({});
    expect(left.filter(({ name }) => name.startsWith("late-"))).toEqual([]);
    await mounts().deleteMounts({ names });
  });
});
describe("a mount that a rollback restores without its secrets", () => {
  const vault = () => mounts().getMount({ name: "vault", reveal: true });

  test("is sent to no site until they are set, and lists them", async () => {
    const names = ["harbour"];
    const made = await mounts().saveMounts({
      mounts: [{ ...dav("vault", SECRET), sites: { names } }],
    });
    await expect.poll(() => site.storages.row("/vault")?.status).toBe("work");
    await mounts().deleteMounts({ names: ["vault"] });
    await expect.poll(() => site.storages.row("/vault")).toBeUndefined();
    const { results } = await mounts().rollbackMounts({
      revision: made.revision,
      names: ["vault"],
    });
    expect(results).toMatchObject([{ name: "vault", outcome: "created" }]);
    expect(results[0]?.note).toContain("config.password");
    const { mount } = await vault();
    expect(mount?.missing).toEqual(["config.password"]);
    expect(mount?.status).toMatchObject([
      { site: "harbour", state: "stuck", error: expect.stringContaining("password") },
    ]);
    // A whole round, and a sync by choice, which push everything else.
    await mounts().saveMounts({ mounts: [local("beside", "/beside", names)] });
    await expect.poll(() => site.storages.row("/beside")?.status).toBe("work");
    const synced = await mounts().syncMounts({ site: "harbour", names: ["vault"] });
    expect(synced.status).toMatchObject([{ state: "stuck" }]);
    const compared = await mounts().compareMounts({ site: "harbour" });
    expect(compared.results.find(({ name }) => name === "vault")?.outcome).toBe("skipped");
    expect(site.storages.row("/vault")).toBeUndefined();
    // No bypass by another change, a new name or a copy.
    for (const config of [{ username: "bob" }, { password: "********" }]) {
      await mounts().saveMounts({ mounts: [{ name: "vault", config }] });
      expect((await vault()).mount?.missing).toEqual(["config.password"]);
    }
    await expect(
      mounts().copyMount({ name: "vault", newName: "twin", mountPath: "/twin" }),
    ).rejects.toThrow("give it config.password first");
    await mounts().renameMount({ name: "vault", newName: "safe" });
    await mounts().renameMount({ name: "safe", newName: "vault" });
    expect((await vault()).mount?.missing).toEqual(["config.password"]);
    await mounts().syncMounts({ site: "harbour", names: ["vault"] });
    expect(site.storages.row("/vault")).toBeUndefined();
    await mounts().saveMounts({ mounts: [{ name: "vault", config: { password: "given" } }] });
    await expect.poll(() => site.storages.row("/vault")?.status).toBe("work");
    expect(site.storages.addition("/vault")).toMatchObject({ password: "given", username: "bob" });
    await expect.poll(async () => (await vault()).mount?.status[0]?.state).toBe("ok");
    expect((await vault()).mount?.missing).toEqual([]);
    await mounts().deleteMounts({ names: ["vault", "beside"] });
    for (const path of ["/vault", "/beside"])
      await expect.poll(() => site.storages.row(path)).toBeUndefined();
  });

  test("lacks those of one site only, and adopts them from a site that has them", async () => {
    const names = ["harbour", "nowhere"];
    const made = await mounts().saveMounts({
      mounts: [
        {
          ...{ name: "keys", mountPath: "/keys", driver: "WebDav", sites: { names } },
          config: { address: "https://dav.example", username: "ann", password: "all" },
          overrides: { harbour: { config: { password: "own" } } },
        },
      ],
    });
    await expect.poll(() => site.storages.addition("/keys")["password"]).toBe("own");
    // The same revision without the override's secret: the mount's own is kept.
    await mounts().saveMounts({ mounts: [{ name: "keys", overrides: { harbour: {} } }] });
    await expect.poll(() => site.storages.addition("/keys")["password"]).toBe("all");
    await mounts().rollbackMounts({ revision: made.revision, names: ["keys"] });
    const keys = async () => (await mounts().getMount({ name: "keys", reveal: true })).mount;
    expect((await keys())?.missing).toEqual(["overrides.harbour.config.password"]);
    const adopted = await mounts().adoptMounts({ site: "harbour", names: ["keys"] });
    expect(adopted.results).toMatchObject([{ name: "keys", outcome: "changed" }]);
    expect(await keys()).toMatchObject({
      missing: [],
      config: { password: "all" },
      overrides: { harbour: { config: { password: "all" } } },
    });
    await mounts().deleteMounts({ names: ["keys"] });
    await expect.poll(() => site.storages.row("/keys")).toBeUndefined();
  });

  test("is completed by null, for no value", async () => {
    const { revision } = await mounts().saveMounts({
      mounts: [
        {
          ...{ name: "ssh", mountPath: "/ssh", driver: "SFTP", sites: { names: ["nowhere"] } },
          config: { address: "nas:22", username: "ann", password: SECRET, passphrase: "p" },
        },
      ],
    });
    await mounts().deleteMounts({ names: ["ssh"] });
    await mounts().rollbackMounts({ revision, names: ["ssh"] });
    const missing = async () => (await mounts().getMount({ name: "ssh" })).mount?.missing;
    expect((await missing())?.sort()).toEqual(["config.passphrase", "config.password"]);
    await mounts().saveMounts({ mounts: [{ name: "ssh", config: { password: "given" } }] });
    expect(await missing()).toEqual(["config.passphrase"]);
    await mounts().saveMounts({ mounts: [{ name: "ssh", config: { username: "bob" } }] });
    expect(await missing()).toEqual(["config.passphrase"]);
    const none = { passphrase: null } as unknown as JsonObject;
    await mounts().saveMounts({ mounts: [{ name: "ssh", config: none }] });
    expect(await missing()).toEqual([]);
    await mounts().deleteMounts({ names: ["ssh"] });
  });
});

describe("a renamed site", () => {
  test("keeps its mounts, with its overrides", async () => {
    await mounts().saveMounts({
      mounts: [
        {
          ...local("books", "/books", ["harbour"]),
          overrides: { harbour: { config: { root_folder_path: "/mnt/books" } } },
        },
        { ...local("all", "/all", []), overrides: { harbour: { mountPath: "/everything" } } },
      ],
    });
    await expect.poll(() => site.storages.row("/books")?.status).toBe("work");
    await expect.poll(() => site.storages.row("/everything")?.status).toBe("work");
    const ids = ["/books", "/everything"].map((path) => site.storages.row(path)?.id);
    const count = (call: string) => site.storages.count(`POST /api/admin/storage/${call}`);
    const [deletions, updates] = [count("delete"), count("update")];
    await as(service.port).sites.updateSite({ name: "harbour", site: { name: "quay" } });
    // Each of these is a whole round that would delete mounts that the site must not have.
    for (const name of ["later", "last"]) {
      await mounts().saveMounts({ mounts: [local(name, `/${name}`, [])] });
      await expect.poll(() => site.storages.row(`/${name}`)?.status).toBe("work");
    }
    expect(["/books", "/everything"].map((path) => site.storages.row(path)?.id)).toEqual(ids);
    expect(site.storages.addition("/books")["root_folder_path"]).toBe("/mnt/books");
    expect(count("delete")).toBe(deletions);
    await expect
      .poll(async () => (await mounts().getMount({ name: "books" })).mount?.status)
      .toMatchObject([{ site: "quay", state: "ok" }]);
    expect(count("update")).toBe(updates);
  });
});
