import type { JsonObject } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { dav, FOLLOWING, local, observe, startFollowed } from "./following.ts";

const SECRET = "dav-password-77c1";

const site = startedForAll(startWholeSite);
const { siteTimes, mountTimes } = FOLLOWING;
const service = startedForAll(() => startFollowed({ harbour: site }, { siteTimes, mountTimes }));
const admin = startedForAll(() => as(service.port));
startedForAll(() => observe(admin, "nowhere"));

/** Mounts with a token that writes, and that has further scopes. */
const writing = async (...scopes: string[]) =>
  as(service.port, (await give(admin, ["mounts:write", ...scopes])).text).mounts;
const nowhere = { sites: { names: ["nowhere"] } };
/** A mount of no site that answers. */
const vaulted = (name: string, password: string) => dav(name, password, nowhere);

// Saves, with overrides: mount-access-fuzz.test.ts.
describe("without mounts:reveal a reply does not reveal whether a secret equals the sent value", () => {
  test("in the state of a site that has it, and in comparisons", async () => {
    const pier = await startWholeSite();
    await admin.sites.createSite({ site: { name: "pier", url: pier.url, token: pier.token() } });
    const right = dav("guessed", "the-right-one", { sites: { names: ["pier"] } });
    await admin.mounts.saveMounts({ mounts: [right] });
    await admin.mounts.syncMounts({ site: "pier", names: ["guessed"] });
    const writer = await writing();
    const shown: unknown[] = [];
    for (const password of ["a-wrong-one", "the-right-one"]) {
      await writer.saveMounts({ mounts: [{ name: "guessed", config: { password } }] });
      const { results } = await writer.compareMounts({ site: "pier" });
      // The state follows within the interval of reads, and stays.
      const status = async () =>
        (await writer.getMount({ name: "guessed" })).mount?.status.map((one) => [
          one.state,
          one.differs,
        ]);
      await expect.poll(status).toEqual([["differs", ["password"]]]);
      shown.push(results);
    }
    expect(shown[1]).toEqual(shown[0]);
    expect(shown[0]).toMatchObject([{ differs: ["password"] }]);
    // A caller who may read it is told.
    await admin.mounts.saveMounts({
      mounts: [{ name: "guessed", config: { password: "the-right-one" } }],
    });
    expect((await admin.mounts.compareMounts({ site: "pier" })).results).toMatchObject([
      { outcome: "unchanged" },
    ]);
    await admin.mounts.deleteMounts({ names: ["guessed"] });
    await admin.sites.deleteSite({ name: "pier" });
    await pier.stop();
  });

  test("in the note about a credential that sites would share", async () => {
    const pikpak = {
      name: "drive",
      mountPath: "/drive",
      driver: "PikPak",
      sites: { names: ["harbour", "quay"] },
      config: { username: "ann", password: "p", refresh_token: "token-of-all" },
      overrides: { quay: { config: { refresh_token: "token-of-quay" } } },
    };
    const quay = await startWholeSite();
    await admin.sites.createSite({
      site: { name: "quay", url: quay.url, token: quay.token() },
    });
    await admin.mounts.saveMounts({ mounts: [pikpak] });
    const writer = await writing();
    const toAll = (value: string) => ({ name: "drive", config: { refresh_token: value } });
    const toQuay = (value: string) => ({
      name: "drive",
      overrides: { quay: { config: { refresh_token: value } } },
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
    await expect(results({ name: "drive", overrides: { quay: {} } })).rejects.toThrow(
      "refresh_token is required again",
    );
    expect((await results({ ...toAll("same"), ...toQuay("same") }))[0]?.note).toContain(
      "would share refresh_token",
    );
    const both = await writing("mounts:reveal");
    await admin.mounts.saveMounts({ mounts: [toAll("token-of-all")] });
    const reply = await both.saveMounts({ mounts: [toQuay("token-of-all")], dryRun: true });
    expect(reply.results[0]?.note).toContain("would share refresh_token");
    await admin.mounts.deleteMounts({ names: ["drive"] });
    await admin.sites.deleteSite({ name: "quay" });
    await quay.stop();
  });

  test("in the names of mounts with an equal one", async () => {
    await admin.mounts.saveMounts({
      mounts: [vaulted("mine", "a-guess"), vaulted("vault", SECRET)],
    });
    const writer = await writing();
    const request = { name: "mine", item: "password", value: "new", dryRun: true };
    await expect(writer.replaceCredential(request)).rejects.toThrow("mounts:reveal");
    // A member that is not secret is replaced without it.
    const { results } = await writer.replaceCredential({
      name: "mine",
      item: "username",
      value: "bob",
      dryRun: true,
    });
    expect(results.map(({ name }) => name)).toEqual(["mine", "vault"]);
    const both = await writing("mounts:reveal");
    expect((await both.replaceCredential(request)).results.map(({ name }) => name)).toEqual([
      "mine",
    ]);
    await admin.mounts.deleteMounts({ names: ["mine", "vault"] });
  });
});

test("a path in use is reported at its own mount, after other invalid ones", async () => {
  await admin.mounts.saveMounts({
    mounts: [local("first", "/srv", { mountPath: "/taken", ...nowhere })],
  });
  const save = admin.mounts.saveMounts({
    mounts: [
      { ...local("wrong", "/srv", { mountPath: "/w", ...nowhere }), driver: "Lokal" },
      local("second", "/srv", { mountPath: "/taken", ...nowhere }),
    ],
  });
  const error = ConnectError.from(await save.catch((failure: unknown) => failure));
  const [details] = error.findDetails(BadRequestSchema);
  expect(details?.fieldViolations.map(({ field }) => field)).toEqual([
    "mounts[0].driver",
    "mounts[1].mount_path",
  ]);
  await admin.mounts.deleteMounts({ names: ["first"] });
});

describe("a rollback", () => {
  test("restores no mount to a path that another one has now", async () => {
    const made = await admin.mounts.saveMounts({
      mounts: [local("gone", "/srv", { mountPath: "/here", ...nowhere })],
    });
    await admin.mounts.deleteMounts({ names: ["gone"] });
    await admin.mounts.saveMounts({
      mounts: [local("newer", "/srv", { mountPath: "/here", ...nowhere })],
    });
    const back = (names: string[]) =>
      admin.settings.rollback({ to: made.revision, only: names, dryRun: true });
    await expect(back(["gone"])).rejects.toThrow(
      'gone: its path is already used by the mount "newer"',
    );
    // Both together are restored.
    expect((await back([])).results.map(({ key, outcome }) => `${key} ${outcome}`).sort()).toEqual([
      "mount:gone created",
      "mount:newer deleted",
    ]);
    await admin.mounts.deleteMounts({ names: ["newer"] });
  });

  test("is not refused because of concurrent saves of settings and mounts", async () => {
    const at = (name: string, root: string) => local(name, root, nowhere);
    const names = ["kept", "busy"];
    const made = await admin.mounts.saveMounts({
      mounts: names.map((name) => at(name, "/a")),
    });
    let isRunning = true;
    const savers = [
      (turn: number) =>
        admin.settings.saveSettings({ settings: [{ key: "logo", value: `${turn}` }] }),
      (turn: number) => admin.mounts.saveMounts({ mounts: [at("busy", `/${turn}`)] }),
      (turn: number) => admin.mounts.saveMounts({ mounts: [at(`late-${turn % 3}`, `/${turn}`)] }),
    ].map(async (save) => {
      for (let turn = 1; isRunning; turn += 1) await save(turn);
    });
    const root = async (name: string) =>
      (await admin.mounts.getMount({ name })).mount?.config?.["root_folder_path"];
    try {
      for (let turn = 0; turn < 10; turn += 1) {
        await admin.mounts.saveMounts({ mounts: [at("kept", "/b")] });
        await admin.settings.rollback({ to: made.revision, only: ["mounts"] });
        expect(await root("kept")).toBe("/a");
      }
    } finally {
      isRunning = false;
      await Promise.all(savers);
    }
    // Without a conflict all later changes are undone, too.
    await admin.settings.rollback({ to: made.revision, only: ["mounts"] });
    expect(await root("busy")).toBe("/a");
    const { mounts: left } = await admin.mounts.listMounts({});
    expect(left.filter(({ name }) => name.startsWith("late-"))).toEqual([]);
    await admin.mounts.deleteMounts({ names });
  });
});
describe("a mount that a rollback restores without its secrets", () => {
  const vault = () => admin.mounts.getMount({ name: "vault", reveal: true });

  test("is sent to no site until they are set, and lists them", async () => {
    const names = ["harbour"];
    const made = await admin.mounts.saveMounts({
      mounts: [dav("vault", SECRET, { sites: { names } })],
    });
    await expect.poll(() => site.storages.row("/vault")?.status).toBe("work");
    await admin.mounts.deleteMounts({ names: ["vault"] });
    await expect.poll(() => site.storages.row("/vault")).toBeUndefined();
    const { results } = await admin.settings.rollback({
      to: made.revision,
      only: ["vault"],
    });
    expect(results).toMatchObject([{ key: "mount:vault", outcome: "created" }]);
    expect(results[0]?.note).toContain("config.password");
    const { mount } = await vault();
    expect(mount?.missing).toEqual(["config.password"]);
    expect(mount?.status).toMatchObject([
      { site: "harbour", state: "stuck", error: expect.stringContaining("password") },
    ]);
    // A whole round, and a sync by choice, which push everything else.
    await admin.mounts.saveMounts({ mounts: [local("beside", "/srv", { sites: { names } })] });
    await expect.poll(() => site.storages.row("/beside")?.status).toBe("work");
    const synced = await admin.mounts.syncMounts({ site: "harbour", names: ["vault"] });
    expect(synced.status).toMatchObject([{ state: "stuck" }]);
    const compared = await admin.mounts.compareMounts({ site: "harbour" });
    expect(compared.results.find(({ name }) => name === "vault")?.outcome).toBe("skipped");
    expect(site.storages.row("/vault")).toBeUndefined();
    // No bypass by another change, a new name or a copy.
    for (const config of [{ username: "bob" }, { password: "********" }]) {
      await admin.mounts.saveMounts({ mounts: [{ name: "vault", config }] });
      expect((await vault()).mount?.missing).toEqual(["config.password"]);
    }
    await expect(
      admin.mounts.copyMount({ name: "vault", newName: "twin", mountPath: "/twin" }),
    ).rejects.toThrow("give it config.password first");
    await admin.mounts.renameMount({ name: "vault", newName: "safe" });
    await admin.mounts.renameMount({ name: "safe", newName: "vault" });
    expect((await vault()).mount?.missing).toEqual(["config.password"]);
    await admin.mounts.syncMounts({ site: "harbour", names: ["vault"] });
    expect(site.storages.row("/vault")).toBeUndefined();
    await admin.mounts.saveMounts({ mounts: [{ name: "vault", config: { password: "given" } }] });
    await expect.poll(() => site.storages.row("/vault")?.status).toBe("work");
    expect(site.storages.addition("/vault")).toMatchObject({ password: "given", username: "bob" });
    await expect.poll(async () => (await vault()).mount?.status[0]?.state).toBe("ok");
    expect((await vault()).mount?.missing).toEqual([]);
    await admin.mounts.deleteMounts({ names: ["vault", "beside"] });
    for (const path of ["/vault", "/beside"])
      await expect.poll(() => site.storages.row(path)).toBeUndefined();
  });

  test("lacks those of one site only, and adopts them from a site that has them", async () => {
    const names = ["harbour", "nowhere"];
    const made = await admin.mounts.saveMounts({
      mounts: [
        dav("keys", "all", {
          sites: { names },
          overrides: { harbour: { config: { password: "own" } } },
        }),
      ],
    });
    await expect.poll(() => site.storages.addition("/keys")["password"]).toBe("own");
    // The same revision without the override's secret: the mount's own is kept.
    await admin.mounts.saveMounts({ mounts: [{ name: "keys", overrides: { harbour: {} } }] });
    await expect.poll(() => site.storages.addition("/keys")["password"]).toBe("all");
    await admin.settings.rollback({ to: made.revision, only: ["keys"] });
    const keys = async () => (await admin.mounts.getMount({ name: "keys", reveal: true })).mount;
    expect((await keys())?.missing).toEqual(["overrides.harbour.config.password"]);
    const adopted = await admin.mounts.adoptMounts({ site: "harbour", names: ["keys"] });
    expect(adopted.results).toMatchObject([{ name: "keys", outcome: "changed" }]);
    expect(await keys()).toMatchObject({
      missing: [],
      config: { password: "all" },
      overrides: { harbour: { config: { password: "all" } } },
    });
    await admin.mounts.deleteMounts({ names: ["keys"] });
    await expect.poll(() => site.storages.row("/keys")).toBeUndefined();
  });

  test("is completed by null, for no value", async () => {
    const { revision } = await admin.mounts.saveMounts({
      mounts: [
        {
          name: "ssh",
          mountPath: "/ssh",
          driver: "SFTP",
          sites: { names: ["nowhere"] },
          config: { address: "nas:22", username: "ann", password: SECRET, passphrase: "p" },
        },
      ],
    });
    await admin.mounts.deleteMounts({ names: ["ssh"] });
    await admin.settings.rollback({ to: revision, only: ["ssh"] });
    const missing = async () => (await admin.mounts.getMount({ name: "ssh" })).mount?.missing;
    expect((await missing())?.sort()).toEqual(["config.passphrase", "config.password"]);
    await admin.mounts.saveMounts({ mounts: [{ name: "ssh", config: { password: "given" } }] });
    expect(await missing()).toEqual(["config.passphrase"]);
    await admin.mounts.saveMounts({ mounts: [{ name: "ssh", config: { username: "bob" } }] });
    expect(await missing()).toEqual(["config.passphrase"]);
    const none = { passphrase: null } as unknown as JsonObject;
    await admin.mounts.saveMounts({ mounts: [{ name: "ssh", config: none }] });
    expect(await missing()).toEqual([]);
    await admin.mounts.deleteMounts({ names: ["ssh"] });
  });
});

describe("a renamed site", () => {
  test("keeps its mounts, with its overrides", async () => {
    await admin.mounts.saveMounts({
      mounts: [
        {
          ...local("books", "/srv", { sites: { names: ["harbour"] } }),
          overrides: { harbour: { config: { root_folder_path: "/mnt/books" } } },
        },
        { ...local("all", "/srv"), overrides: { harbour: { mountPath: "/everything" } } },
      ],
    });
    await expect.poll(() => site.storages.row("/books")?.status).toBe("work");
    await expect.poll(() => site.storages.row("/everything")?.status).toBe("work");
    const ids = ["/books", "/everything"].map((path) => site.storages.row(path)?.id);
    const count = (call: string) => site.storages.count(`POST /api/admin/storage/${call}`);
    const [deletions, updates] = [count("delete"), count("update")];
    await admin.sites.updateSite({ name: "harbour", site: { name: "quay" } });
    // Each of these is a whole round that would delete mounts that the site must not have.
    for (const name of ["later", "last"]) {
      await admin.mounts.saveMounts({ mounts: [local(name, "/srv")] });
      await expect.poll(() => site.storages.row(`/${name}`)?.status).toBe("work");
    }
    expect(["/books", "/everything"].map((path) => site.storages.row(path)?.id)).toEqual(ids);
    expect(site.storages.addition("/books")["root_folder_path"]).toBe("/mnt/books");
    expect(count("delete")).toBe(deletions);
    await expect
      .poll(async () => (await admin.mounts.getMount({ name: "books" })).mount?.status)
      .toMatchObject([{ site: "quay", state: "ok" }]);
    expect(count("update")).toBe(updates);
  });
});
