import { describe, expect, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForEach } from "../started.ts";
import { as } from "./access-client.ts";
import { startFollowed } from "./following.ts";

const home = startedForEach(startWholeSite);
const quay = startedForEach(startWholeSite);
const service = startedForEach(() => startFollowed({ home, quay }));
const admin = startedForEach(() => as(service.port));

const there = (path: string) => home.settings.rules.at(path);
const ON_HOME = { names: ["home"] };
const stateOf = async (path: string) => {
  const { rule } = await admin.rules.getRule({ path });
  return rule?.status.find(({ site }) => site === "home");
};
const save = (path: string, values: object = {}) =>
  admin.rules.saveRules({ rules: [{ path, sites: ON_HOME, ...values }] });
const words = (results: readonly { effects: readonly { action: string; path: string }[] }[]) =>
  results.flatMap(({ effects }) => effects.map(({ action, path }) => `${action} ${path}`));

describe("rules on a site that follows", () => {
  test("are created, changed and deleted there, and say so in their state", async () => {
    await save("/films", { password: "pass-word-1", hide: "^\\." });
    await expect.poll(() => there("/films")).toMatchObject({ password: "pass-word-1" });
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("ok");
    await save("/films", { readme: "# Films" });
    await expect.poll(() => there("/films")?.readme).toBe("# Films");
    expect(there("/films")?.password).toBe("pass-word-1");
    await admin.rules.deleteRules({ paths: ["/films"] });
    await expect.poll(() => there("/films")).toBeUndefined();
    expect(quay.settings.rules.rows.size).toBe(0);
  });

  test("are moved with their protection", async () => {
    await save("/films", { password: "p" });
    await expect.poll(() => there("/films")).toBeDefined();
    await admin.rules.moveRule({ path: "/films", newPath: "/kino" });
    await expect.poll(() => there("/kino")).toMatchObject({ password: "p" });
    await expect.poll(() => there("/films")).toBeUndefined();
  });

  test("are restored when they were changed there, and by an undo", async () => {
    await save("/films", { readme: "one" });
    await expect.poll(() => there("/films")?.readme).toBe("one");
    const { revision } = await admin.rules.listRules({});
    home.settings.rules.put({ path: "/films", readme: "theirs" });
    await expect.poll(() => there("/films")?.readme).toBe("one");
    await save("/films", { readme: "two" });
    await expect.poll(() => there("/films")?.readme).toBe("two");
    await admin.settings.rollback({ to: revision });
    await expect.poll(() => there("/films")?.readme).toBe("one");
  });

  test("name effects before a change: what is removed, and which folders open", async () => {
    await save("/films", { password: "p", pSub: true, readme: "x" });
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("ok");
    const deleted = await admin.rules.deleteRules({ paths: ["/films"], dryRun: true });
    expect(words(deleted.results)).toEqual(["remove /films", "open /films"]);
    const open = await admin.rules.saveRules({
      rules: [{ path: "/films", password: "" }],
      dryRun: true,
    });
    expect(words(open.results)).toEqual(["change /films", "open /films"]);
    const text = await admin.rules.saveRules({
      rules: [{ path: "/films", readme: "y" }],
      dryRun: true,
    });
    expect(words(text.results)).toEqual(["change /films"]);
    expect(there("/films")?.password).toBe("p");
  });

  test("with an unknown user wait, are a failing part of the site's state, and leave others alone", async () => {
    const values = [{ kind: { case: "stringValue", value: "zoe" } }];
    await save("/films", { readUsers: { values } });
    await save("/open");
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("failing");
    expect((await stateOf("/films"))?.error).toContain("zoe");
    expect((await stateOf("/films"))?.remedy).toContain("mooring rule set");
    await expect.poll(() => there("/open")).toBeDefined();
    expect(there("/films")).toBeUndefined();
    const site = async () => (await admin.sites.getSite({ name: "home" })).site?.status;
    await expect.poll(site).toMatchObject({ state: "failing", rules: { failing: 1, ok: 1 } });
    expect((await site())?.cause).toContain("folder rules");
    const { id } = home.settings.users.add({ username: "zoe" });
    await expect.poll(() => there("/films")?.read_users).toEqual([id]);
    await expect.poll(async () => (await site())?.state).toBe("ok");
  });

  test("are in the log of the site and in the audit", async () => {
    await save("/films", { password: "pass-word-2" });
    await expect.poll(() => there("/films")).toBeDefined();
    const log = async () => (await admin.sites.listSiteLog({ name: "home" })).entries;
    await expect
      .poll(log)
      .toMatchObject([{ action: "rule", keys: ["rule:/films"], result: "create" }, {}]);
    const { events } = await admin.audit.listAuditEvents({ methods: ["rule"] });
    expect(events).toMatchObject([{ subjects: ["home", "rule:/films"], outcome: "OK" }]);
    expect(events[0]?.detail).not.toContain("pass-word-2");
  });

  test("leave a deleted site, whose server keeps them", async () => {
    await save("/films", { password: "p" });
    await expect.poll(() => there("/films")).toBeDefined();
    const { records } = await admin.sites.deleteSite({ name: "home" });
    expect(records).toMatchObject([{ kind: "rule", name: "/films", outcome: "changed" }]);
    expect((await admin.rules.getRule({ path: "/films" })).rule?.sites).toMatchObject({
      none: true,
    });
    expect(there("/films")).toBeDefined();
  });
});

describe("rules that a site had before", () => {
  const observe = () => admin.sites.updateSite({ name: "home", site: { mode: SiteMode.OBSERVE } });

  test("are compared, adopted with their passwords and users, and followed from then on", async () => {
    await observe();
    const { id } = home.settings.users.add({ username: "zoe" });
    home.settings.rules.put({ path: "/films", password: "theirs", read_users: [id] });
    home.settings.rules.put({ path: "/own", readme: "text" });
    const compared = await admin.rules.compareRules({ site: "home" });
    expect(compared.results.map(({ path, outcome }) => `${path} ${outcome}`)).toEqual([
      "/films skipped",
      "/own skipped",
    ]);
    const dry = await admin.rules.adoptRules({ site: "home", dryRun: true });
    expect(dry.results.map(({ path, outcome }) => `${path} ${outcome}`)).toEqual([
      "/films created",
      "/own created",
    ]);
    expect((await admin.rules.listRules({})).rules).toEqual([]);
    await admin.rules.adoptRules({ site: "home", paths: ["/films"] });
    const { rule } = await admin.rules.getRule({ path: "/films", reveal: true });
    expect(rule).toMatchObject({
      password: "theirs",
      readUsers: ["zoe"],
      sites: { names: ["home"] },
      status: [{ state: "ok" }],
    });
    await save("/films", { readme: "ours" });
    expect((await stateOf("/films"))?.state).toBe("differs");
    await admin.sites.updateSite({ name: "home", site: { mode: SiteMode.FOLLOW } });
    await expect.poll(() => there("/films")).toMatchObject({ readme: "ours", password: "theirs" });
    expect(there("/own")).toMatchObject({ readme: "text" });
  });

  test("at the path of a rule of Mooring are not overwritten before a request", async () => {
    home.settings.rules.put({ path: "/films", password: "theirs" });
    await save("/films", { readme: "ours" });
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("differs");
    expect((await stateOf("/films"))?.remedy).toContain("mooring rule sync home /films");
    expect(there("/films")).toMatchObject({ password: "theirs", readme: "" });
    const { results } = await admin.rules.compareRules({ site: "home" });
    expect(words(results)).toEqual(["change /films", "open /films"]);
    const { status } = await admin.rules.syncRules({ site: "home", paths: ["/films"] });
    expect(status).toMatchObject([{ state: "ok", site: "home", path: "/films" }]);
    expect(there("/films")).toMatchObject({ password: "", readme: "ours" });
  });

  test("are adopted with hide as it is; a line that hides every name is named", async () => {
    await observe();
    const hidesAll = ["\\.bak$\n", "\n\\.bak$", "a\n\nb", "\n"];
    const hides = [...hidesAll, "a\nb", ""];
    for (const [at, hide] of hides.entries()) home.settings.rules.put({ path: `/${at}`, hide });
    const named = hides.map((hide, at) => {
      const isNamed = hidesAll.includes(hide);
      const note = isNamed ? expect.stringContaining("an empty line, which hides every name") : "";
      return { path: `/${at}`, outcome: "created", note };
    });
    const compared = await admin.rules.compareRules({ site: "home" });
    expect(compared.results.map(({ note }) => note.includes("an empty line"))).toEqual(
      hides.map((hide) => hidesAll.includes(hide)),
    );
    const dry = await admin.rules.adoptRules({ site: "home", dryRun: true });
    expect(dry.results).toMatchObject(named);
    expect((await admin.rules.adoptRules({ site: "home" })).results).toMatchObject(named);
    const { rules } = await admin.rules.listRules({});
    expect(rules.map(({ hide }) => hide)).toEqual(hides);
  });

  test("become values of the site alone if the rule is on several sites", async () => {
    await admin.rules.saveRules({
      rules: [{ path: "/films", readme: "all", sites: { all: true } }],
    });
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("ok");
    await observe();
    home.settings.rules.put({ path: "/films", readme: "home's", password: "p" });
    await admin.rules.adoptRules({ site: "home" });
    const { rule } = await admin.rules.getRule({ path: "/films", reveal: true });
    expect(rule).toMatchObject({
      readme: "all",
      password: "",
      overrides: { home: { readme: "home's", password: "p" } },
    });
    await expect.poll(async () => (await stateOf("/films"))?.state).toBe("ok");
  });

  test("that were deleted there are deleted by an adoption", async () => {
    await save("/films");
    await expect.poll(() => there("/films")).toBeDefined();
    await observe();
    home.settings.rules.rows.clear();
    const { results } = await admin.rules.adoptRules({ site: "home" });
    expect(results).toMatchObject([{ path: "/films", outcome: "deleted" }]);
    expect((await admin.rules.listRules({})).rules).toEqual([]);
  });
});

test("a sync in observe mode writes only what was asked for", async () => {
  await admin.sites.updateSite({ name: "home", site: { mode: SiteMode.OBSERVE } });
  await save("/films");
  await save("/later");
  await admin.rules.syncRules({ site: "home", paths: ["/films"] });
  expect(there("/films")).toBeDefined();
  expect(there("/later")).toBeUndefined();
  await expect(admin.rules.syncRules({ site: "home", paths: ["/nothing"] })).rejects.toThrow(
    "/nothing",
  );
  await expect(admin.rules.syncRules({ site: "quay", paths: ["/films"] })).rejects.toThrow("quay");
});

test("a watched rule shows its way to the site", async () => {
  const ending = new AbortController();
  const states: string[] = [];
  const watching = (async () => {
    for await (const { rules } of admin.rules.watchRules({}, { signal: ending.signal }))
      for (const { path, status } of rules) states.push(`${path} ${status[0]?.state}`);
  })().catch(() => undefined);
  await save("/films");
  await expect.poll(() => states.at(-1)).toBe("/films ok");
  ending.abort();
  await watching;
});
