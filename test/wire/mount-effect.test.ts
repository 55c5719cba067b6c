import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { Effect, RecordResult } from "../../gen/mooring/v1/effect_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForEach } from "../started.ts";
import { as, give } from "./access-client.ts";
import { FOLLOWING, local, observe, rowOf, startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";

const home = startedForEach(startWholeSite);
const service = startedForEach(() => startFollowed({ home }, FOLLOWING));
const admin = startedForEach(() => as(service.port));
startedForEach(() => observe(admin, "pier"));

interface Effective {
  readonly name: string;
  readonly effects: readonly Pick<Effect, "action" | "site" | "path">[];
}

const effects = (results: readonly Effective[]) =>
  results.flatMap(({ name, effects: all }) =>
    all.map(({ action, site, path }) => `${name}: ${action} ${path} on ${site}`),
  );
const running = async (name: string, more: object = {}) => {
  await admin.mounts.saveMounts({ mounts: [{ ...local(name, "/srv"), ...more }] });
  await expect.poll(() => rowOf(home, `/${name}`)?.status).toBe("work");
};
const rest = async (call: string, body: object) => {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/${call}`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return reply.json() as Promise<{ code: number; data: Record<string, unknown> }>;
};

describe("a change lists the mounts that it removes, disables or mounts again on running servers", () => {
  test("in the reply and in the dry run of saves, deletions, rollbacks, replacements and imports", async () => {
    await running("films");
    const { revision } = await admin.mounts.listMounts({});
    const sites = { names: ["pier"] };
    const taken = { mounts: [{ name: "films", sites }] };
    const dry = await admin.mounts.saveMounts({ ...taken, dryRun: true });
    expect(effects(dry.results)).toEqual(["films: remove /films on home"]);
    expect(await rest("mount/save", { ...taken, dry_run: true })).toMatchObject({
      data: {
        results: [
          {
            name: "films",
            effects: [{ action: "remove", site: "home", kind: "mount", path: "/films" }],
          },
        ],
      },
    });
    expect(
      effects((await admin.mounts.deleteMounts({ names: ["films"], dryRun: true })).results),
    ).toEqual(["films: remove /films on home"]);
    const disabled = [{ name: "films", disabled: true }];
    expect(
      effects((await admin.mounts.saveMounts({ mounts: disabled, dryRun: true })).results),
    ).toEqual(["films: disable /films on home"]);
    const replaced = await admin.mounts.replaceCredential({
      name: "films",
      item: "root_folder_path",
      value: "/other",
      dryRun: true,
    });
    expect(effects(replaced.results)).toEqual(["films: remount /films on home"]);
    const imported = await admin.backup.importArchive({
      only: ["mounts"],
      document: {
        storages: [
          { mount_path: "/films", driver: "Local", addition: '{"root_folder_path":"/new"}' },
        ],
      },
      dryRun: true,
    });
    expect(effects(imported.results)).toEqual(["films: remount /films on home"]);
    expect(rowOf(home, "/films")).toMatchObject({ status: "work", disabled: false });
    await running("later");
    const back = await admin.settings.rollback({ to: revision, dryRun: true });
    expect(effects(back.results.map((each) => ({ ...each, name: each.key })))).toEqual([
      "mount:later: remove /later on home",
    ]);
    const saved = await admin.mounts.saveMounts(taken);
    expect(effects(saved.results)).toEqual(["films: remove /films on home"]);
    await expect.poll(() => rowOf(home, "/films")).toBeUndefined();
  });

  test("in the comparison before a sync, and in the change of a site that begins to follow", async () => {
    await running("films");
    await running("books");
    await admin.sites.updateSite({ name: "home", site: { mode: SiteMode.OBSERVE } });
    await admin.mounts.saveMounts({ mounts: [{ name: "films", members: { remark: "new" } }] });
    await admin.mounts.deleteMounts({ names: ["books"] });
    const wanted = ["books: remove /books on home", "films: remount /films on home"];
    const compared = await admin.mounts.compareMounts({ site: "home" });
    expect(effects(compared.results).sort()).toEqual(wanted);
    const follow = { name: "home", site: { mode: SiteMode.FOLLOW } };
    // The background work has read the server after the changes.
    await expect
      .poll(async () =>
        effects((await admin.sites.updateSite({ ...follow, dryRun: true })).records).sort(),
      )
      .toEqual(wanted);
    expect(rowOf(home, "/books")).toBeDefined();
    const { records } = await admin.sites.updateSite(follow);
    expect(effects(records).sort()).toEqual(wanted);
    await expect.poll(() => rowOf(home, "/books")).toBeUndefined();
  });

  test("nothing on a server that is only observed, or paused", async () => {
    await running("films");
    await admin.sites.updateSite({ name: "home", site: { paused: true } });
    const dry = await admin.mounts.deleteMounts({ names: ["films"], dryRun: true });
    expect(effects(dry.results)).toEqual([]);
  });

  test("without a hint whether a sent secret is the stored one", async () => {
    const config = { address: "https://dav.example", username: "ann", password: "right" };
    await admin.mounts.saveMounts({
      mounts: [{ name: "dav", mountPath: "/dav", driver: "WebDav", config, sites: { all: true } }],
    });
    await expect.poll(() => rowOf(home, "/dav")?.status).toBe("work");
    const writer = as(service.port, (await give(admin, ["mounts:write"])).text);
    const guess = async (password: string) =>
      effects(
        (
          await writer.mounts.saveMounts({
            mounts: [{ name: "dav", config: { password } }],
            dryRun: true,
          })
        ).results,
      );
    expect(await guess("right")).toEqual(await guess("wrong"));
  });
});

describe("the sites of a mount", () => {
  test("what a read returns can be sent back", async () => {
    await running("films", { sites: { names: ["home"] }, overrides: { home: { mountPath: "" } } });
    await running("all");
    await admin.mounts.saveMounts({
      mounts: [{ ...local("kept", "/srv"), sites: { none: true } }],
    });
    for (const name of ["films", "all", "kept"]) {
      const reply = await fetch(
        `http://127.0.0.1:${service.port}/api/admin/mount/get?name=${name}`,
        { headers: { authorization: TOKEN } },
      );
      const { data } = (await reply.json()) as { data: object };
      expect(await rest("mount/save", { mounts: [data] })).toMatchObject({
        code: 200,
        data: { results: [{ name, outcome: "unchanged", effects: [] }] },
      });
    }
  });

  test("a new mount needs a choice when there are several sites", async () => {
    const { sites: _chosen, ...films } = local("films", "/srv");
    for (const sites of [
      undefined,
      {},
      { names: ["home"], all: true },
      { all: true, none: true },
    ]) {
      const save = admin.mounts.saveMounts({
        mounts: [{ ...films, ...(sites !== undefined && { sites }) }],
      });
      await expect(save).rejects.toMatchObject({
        code: Code.InvalidArgument,
        message: expect.stringContaining("mounts[0].sites must"),
      });
    }
    const document = { storages: [{ mount_path: "/x", driver: "Local", addition: "{}" }] };
    await expect(admin.backup.importArchive({ only: ["mounts"], document })).rejects.toThrow(
      "sites must be chosen",
    );
  });

  test("a renamed site leaves its old name nowhere", async () => {
    const own = { home: { config: { root_folder_path: "/own" } } };
    await running("films", { sites: { names: ["home"] }, overrides: own });
    const before = rowOf(home, "/films")?.id;
    await admin.sites.updateSite({ name: "home", site: { name: "quay" } });
    const { mount } = await admin.mounts.getMount({ name: "films" });
    expect(mount).toMatchObject({ sites: { names: ["quay"] }, overrides: { quay: {} } });
    const { mounts } = await admin.mounts.listMounts({ site: "quay" });
    const shown = JSON.stringify([mount, mounts], (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(shown).not.toContain("home");
    const { revisions } = await admin.settings.listRevisions({});
    const { changes } = await admin.settings.getRevision({
      revision: revisions.find(({ keys }) => keys.includes("mount:films"))?.revision ?? 0n,
    });
    expect(changes[0]?.items.map(({ name, newValue }) => `${name}: ${newValue}`)).toEqual(
      expect.arrayContaining(["sites: quay", "overrides.quay.config.root_folder_path: /own"]),
    );
    await admin.mounts.saveMounts({ mounts: [{ name: "films", members: { remark: "new" } }] });
    await expect.poll(() => rowOf(home, "/films")?.remark).toBe("new");
    expect(rowOf(home, "/films")?.id).toBe(before);
  });

  test("secrets of one site have its name in the history and in the audit, before and after a rename", async () => {
    const config = { address: "https://dav.example", username: "ann", password: "secret-1" };
    const overrides = { pier: { config: { password: "secret-2" } } };
    const dav = { name: "dav", mountPath: "/dav", driver: "WebDav", config, overrides };
    await admin.mounts.saveMounts({ mounts: [{ ...dav, sites: { names: ["pier"] } }] });
    const { revisions } = await admin.settings.listRevisions({ key: "mount:dav" });
    expect(revisions.map(({ keys }) => keys)).toEqual([["mount:dav"]]);
    const secrets = async () => {
      const { changes } = await admin.settings.getRevision({
        revision: revisions[0]?.revision ?? 0n,
      });
      return changes[0]?.items.filter(({ secret }) => secret).map(({ name }) => name);
    };
    expect(await secrets()).toEqual(["config.password", "overrides.pier.config.password"]);
    const audit = await fetch(`http://127.0.0.1:${service.port}/api/admin/audit/events`, {
      headers: { authorization: TOKEN },
    });
    expect(await audit.text()).toContain("mount:dav@pier:password");
    await admin.sites.updateSite({ name: "pier", site: { name: "dock" } });
    expect(await secrets()).toEqual(["config.password", "overrides.dock.config.password"]);
    expect((await admin.mounts.getMount({ name: "dav", reveal: true })).mount).toMatchObject({
      overrides: { dock: { config: { password: "secret-2" } } },
    });
  });

  test.each([
    [["mounts:read"], ["films", ""]],
    [["rules:read"], ["", "/films"]],
    [[], ["", ""]],
  ])(
    "the removal of a site names only records that the token may read: %s",
    async (scopes, named) => {
      await running("films", { sites: { names: ["home"] } });
      await admin.rules.saveRules({ rules: [{ path: "/films", sites: { names: ["home"] } }] });
      const { text } = await give(admin, ["sites:manage", ...scopes]);
      const caller = as(service.port, text);
      for (const dryRun of [true, false]) {
        const { records } = await caller.sites.deleteSite({ name: "home", dryRun });
        expect(records.map(({ name }) => name)).toEqual(named);
        expect(records.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
          "mount changed",
          "rule changed",
        ]);
      }
      caller.close();
    },
  );

  test("the removal of a site says which mounts named it, and puts none on other sites", async () => {
    await running("films", { sites: { names: ["home"] } });
    await running("books", { sites: { names: ["home", "pier"] } });
    await running("all");
    const quiet = (results: readonly RecordResult[]) =>
      results.map(({ name, outcome, note }) => `${name} ${outcome}: ${note}`).sort();
    const named = ["books changed: it is only on pier now", "films changed: it is on no site now"];
    const dry = await admin.sites.deleteSite({ name: "home", dryRun: true });
    expect(quiet(dry.records)).toEqual(named);
    expect((await admin.sites.listSites({})).sites).toHaveLength(2);
    const writes = () => home.storages.calls.filter(({ call }) => /(delete|disable)$/.test(call));
    const removed = await admin.sites.deleteSite({ name: "home" });
    expect(quiet(removed.records)).toEqual(named);
    const sitesOf = async (name: string) => (await admin.mounts.getMount({ name })).mount?.sites;
    expect(await sitesOf("films")).toMatchObject({ names: [], all: false, none: true });
    expect(await sitesOf("books")).toMatchObject({ names: ["pier"], all: false, none: false });
    expect(await sitesOf("all")).toMatchObject({ all: true });
    expect(
      (await admin.mounts.listMounts({ site: "pier" })).mounts.map(({ name }) => name),
    ).toEqual(["all", "books"]);
    expect(writes()).toEqual([]);
    // The mount can be put on a site again.
    const again = { mounts: [{ name: "films", sites: { names: ["pier"] } }] };
    expect((await admin.mounts.saveMounts(again)).results).toMatchObject([{ outcome: "changed" }]);
  });
});

test("a mount that moves away from the folder rule that limits it opens: in dry runs of saves, imports and rollbacks", async () => {
  await running("films");
  const { revision } = await admin.mounts.listMounts({});
  await admin.rules.saveRules({
    rules: [{ path: "/films", password: "closed", sites: { all: true } }],
  });
  const mounts = [{ name: "films", mountPath: "/movies" }];
  const both = ["films: remount /films on home", "films: open /films on home"];
  const dry = await admin.mounts.saveMounts({ mounts, dryRun: true });
  expect(effects(dry.results)).toEqual(both);
  const config = { root_folder_path: "/srv" };
  const entry = { name: "films", path: "/movies", driver: "Local", sites: "all", config };
  const document = { format: "mooring-archive", version: 1, mounts: [entry] };
  const imported = await admin.backup.importArchive({ document, dryRun: true });
  expect(effects(imported.results)).toEqual(both);
  // The rule moves first: nothing opens.
  await admin.rules.moveRule({ path: "/films", newPath: "/movies" });
  await admin.mounts.saveMounts({ mounts });
  const back = await admin.settings.rollback({ to: revision, only: ["mounts"], dryRun: true });
  const results = back.results.map((result) => ({ ...result, name: result.key }));
  expect(effects(results)).toEqual([
    "mount:films: remount /movies on home",
    "mount:films: open /movies on home",
  ]);
});
