// Imports of archives beside running servers, and the rights of their callers.
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, expect, test, vi } from "vitest";
import { SecretsMode } from "../../gen/mooring/v1/backup_service_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll, startedForEach } from "../started.ts";
import { as, give } from "./access-client.ts";
import { FOLLOWING, local, rowOf, startFollowed } from "./following.ts";
import { startService } from "./service.ts";

const home = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ home }));
const admin = startedForAll(() => as(service.port));
const empty = startedForEach(() => startService(FOLLOWING));

/** Everything of the service, with its secrets. */
let archive: JsonObject;
/** Text of the token of `anna`. */
let token: string;

beforeAll(async () => {
  await admin.settings.saveSettings({ settings: [{ key: "site_title", value: "Harbour" }] });
  await admin.mounts.saveMounts({
    mounts: [{ ...local("films", "/films"), sites: { names: ["home"] } }],
  });
  await vi.waitUntil(() => rowOf(home, "/films")?.status === "work");
  token = (await give(admin, ["settings:read"], [], "anna")).text;
  const { document } = await admin.backup.exportArchive({ secrets: SecretsMode.CLEAR });
  archive = document ?? {};
  await admin.sites.updateSite({ name: "home", site: { paused: true } });
});

const linesOf = (results: readonly { part: string; name: string; outcome: string }[]) =>
  results
    .filter(({ part }) => part !== "settings")
    .map(({ part, name, outcome }) => `${part} ${name} ${outcome}`);

test("a site of an archive gets nothing before the import is stored, and then the same as before", async () => {
  const to = as(empty.port);
  const planned = await to.backup.importArchive({ document: archive, dryRun: true });
  expect(planned.results.flatMap(({ effects }) => effects)).toMatchObject([
    { action: "follow", site: "home", path: "", kind: "" },
  ]);
  expect((await to.sites.listSites({})).sites).toEqual([]);
  const { results } = await to.backup.importArchive({ document: archive });
  expect(linesOf(results)).toEqual([
    "sites home created",
    "mounts films created",
    "principals anna created",
  ]);
  await expect
    .poll(async () => (await to.sites.getSite({ name: "home" })).site)
    .toMatchObject({ paused: false, mode: 2 });
  await expect
    .poll(async () => (await to.mounts.getMount({ name: "films" })).mount?.status[0]?.state)
    .toBe("ok");
  expect(rowOf(home, "/films")?.status).toBe("work");
});

test("sites are created paused on request, and take the place of others by name", async () => {
  const to = as(empty.port);
  const paused = { document: archive, pauseSites: true };
  await to.backup.importArchive(paused);
  await to.backup.importArchive(paused);
  expect((await to.sites.getSite({ name: "home" })).site?.paused).toBe(true);
  await to.sites.updateSite({ name: "home", site: { name: "quay" } });
  await to.mounts.deleteMounts({ names: ["films"] });
  const taken = await to.backup.importArchive({ ...paused, only: ["sites"] });
  expect(taken.results).toMatchObject([
    { outcome: "skipped", isLoss: true, note: expect.stringContaining("home=quay") },
  ]);
  const unknown = await to.backup.importArchive({ ...paused, only: ["mounts"] });
  expect(unknown.results).toMatchObject([
    { outcome: "skipped", isLoss: true, note: expect.stringContaining('"home"') },
  ]);
  const mapped = { ...paused, siteNames: { home: "quay" } };
  const { results } = await to.backup.importArchive(mapped);
  expect(linesOf(results)).toEqual([
    "sites home skipped",
    "mounts films created",
    "principals anna unchanged",
  ]);
  expect(results[0]).toMatchObject({ isLoss: false, note: expect.stringContaining("quay") });
  expect((await to.mounts.getMount({ name: "films" })).mount?.sites?.names).toEqual(["quay"]);
});

test("tokens are accepted again with their hash, and without it only after a rotation", async () => {
  const to = as(empty.port);
  const { document } = await admin.backup.exportArchive({});
  const { results } = await to.backup.importArchive({ document: document ?? {}, pauseSites: true });
  const anna = results.find(({ part }) => part === "principals");
  expect(anna).toMatchObject({
    outcome: "created",
    missing: [expect.stringMatching(/^tokens\//)],
    isLoss: true,
  });
  const read = () => as(empty.port, token).settings.getSetting({ key: "site_title" });
  await expect(read()).rejects.toMatchObject({ code: Code.Unauthenticated });
  const [{ id = "" } = {}] = (await to.access.listTokens({})).tokens;
  const rotated = await to.access.rotateToken({ id });
  const again = as(empty.port, rotated.secret);
  expect((await again.settings.getSetting({ key: "site_title" })).setting?.value).toBe("Harbour");
  await to.backup.importArchive({ document: archive, pauseSites: true });
  expect((await read()).setting?.value).toBe("Harbour");
  await to.access.revokeToken({ id });
  await to.backup.importArchive({ document: archive, pauseSites: true });
  await expect(read()).rejects.toMatchObject({ code: Code.Unauthenticated });
});

test("an import gives no token more rights than its caller has", async () => {
  const to = as(empty.port);
  const { text } = await give(to, ["backup:import", "tokens:manage", "settings:read"]);
  const caller = as(empty.port, text);
  const tokens = [
    { id: "A".repeat(12), scopes: ["settings:read"], limits: [] },
    { id: "B".repeat(12), scopes: ["settings:reveal"], limits: [] },
    { id: "C".repeat(12), scopes: ["nothing:known"], limits: [] },
  ];
  const document = {
    format: "mooring-archive",
    version: 1,
    principals: [{ name: "eve", tokens, secrets: {} }],
  };
  const { results } = await caller.backup.importArchive({ document });
  expect(results).toMatchObject([
    { outcome: "created", leftOut: [`tokens.${"B".repeat(12)}`, `tokens.${"C".repeat(12)}`] },
  ]);
  const { tokens: stored } = await to.access.listTokens({ principal: "eve" });
  expect(stored.map(({ id }) => id)).toEqual(["A".repeat(12)]);
});

test("secrets of sites, webhooks and principals are only for the permanent token; other parts need their scopes", async () => {
  const scopes = ["backup:export", "settings:reveal", "sites:read", "mounts:read", "mounts:reveal"];
  const { text } = await give(admin, scopes);
  const reader = as(service.port, text);
  const { document } = await reader.backup.exportArchive({ secrets: SecretsMode.CLEAR });
  expect(JSON.stringify(document)).not.toContain(home.token());
  expect(document).toMatchObject({
    sites: [{ name: "home", omitted: ["token"] }],
    leftOut: [
      { part: "settings" },
      { part: "rules", scope: "rules:read" },
      { part: "webhooks", scope: "webhooks:manage" },
      { part: "principals", scope: "tokens:manage" },
    ],
  });
  expect(JSON.stringify(archive)).toContain(home.token());
  const importer = as(empty.port, (await give(as(empty.port), ["backup:import"])).text);
  const { results, skipped } = await importer.backup.importArchive({ document: archive });
  expect(linesOf(results)).toEqual([]);
  expect(skipped).toMatchObject([
    { part: "sites", count: 1, reason: expect.stringContaining("sites:manage") },
    { part: "mounts", count: 1, reason: expect.stringContaining("mounts:write") },
    { part: "principals", count: 1, reason: expect.stringContaining("tokens:manage") },
  ]);
});
