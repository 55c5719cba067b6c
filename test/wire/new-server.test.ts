// Restore of a backup into an empty service, with a new server in place of the lost one.
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { FOLLOWING, local, startFollowed } from "./following.ts";
import { startService } from "./service.ts";

const lost = startedForAll(startWholeSite);
const fresh = startedForAll(startWholeSite);
const before = startedForAll(() => startFollowed({ home: lost }, FOLLOWING));
/** Without events, work that waits is tried again after a minute. */
const after = startedForAll(() => startService({ ...FOLLOWING, mountTimes: {} }));
/** New server in place of the lost one, for the service that still exists. */
const spare = startedForAll(startWholeSite);
const resumed = startedForAll(() => startService({ ...FOLLOWING, mountTimes: {} }));
const PASSPHRASE = "the passphrase of the drill";

let document: JsonObject;

test("a backup of a site with users, rules and mounts is made", async () => {
  const { rules, mounts, backup } = as(before.port);
  lost.settings.users.add({ username: "zoe", base_path: "/films", permission: 1 });
  const values = [{ kind: { case: "stringValue" as const, value: "zoe" } }];
  await rules.saveRules({ rules: [{ path: "/films", readUsers: { values }, password: "p" }] });
  await mounts.saveMounts({ mounts: [local("films", "/")] });
  await expect.poll(() => lost.settings.rules.at("/films")?.read_users).toHaveLength(1);
  // A rule of the server's own page, which Mooring does not manage.
  lost.settings.rules.put({ path: "/own", password: "q" });
  const made = await backup.createBackup({ passphrase: PASSPHRASE, download: true });
  document = made.document ?? {};
  expect(made.counts).toContainEqual(expect.objectContaining({ part: "servers", count: 1 }));
});

const newServers = () => ({ home: { url: fresh.url, token: fresh.token() } });

test("a new server of a site that the backup does not have is refused, and nothing is changed", async () => {
  const to = as(after.port);
  const request = { document, passphrase: PASSPHRASE };
  await expect(
    to.backup.restoreBackup({ ...request, newServers: { hme: newServers().home } }),
  ).rejects.toMatchObject({ code: Code.InvalidArgument, message: expect.stringContaining("home") });
  await expect(
    to.backup.restoreBackup({ ...request, only: ["mounts"], newServers: newServers() }),
  ).rejects.toMatchObject({ code: Code.InvalidArgument });
  expect((await to.sites.listSites({})).sites).toEqual([]);
});

test("one restore brings users, then rules, then mounts to the new server", async () => {
  const to = as(after.port);
  const request = { document, passphrase: PASSPHRASE, newServers: newServers() };
  const plan = await to.backup.restoreBackup({ ...request, dryRun: true });
  expect(plan.results.find(({ part }) => part === "sites")).toMatchObject({
    name: "home",
    outcome: "created",
    missing: [],
  });
  expect(fresh.settings.users.named("zoe")).toBeUndefined();
  await to.backup.restoreBackup(request);
  const { site } = await to.sites.getSite({ name: "home" });
  expect(site).toMatchObject({ url: fresh.url, paused: false });
  expect(fresh.settings.users.named("zoe")).toMatchObject({ base_path: "/films", permission: 1 });
  await expect
    .poll(() => [...fresh.storages.rows.values()].map(({ mount_path }) => mount_path))
    .toEqual(["/films"]);
  const zoe = fresh.settings.users.named("zoe")?.id;
  expect(fresh.settings.rules.at("/films")).toMatchObject({ read_users: [zoe], password: "p" });
  expect(fresh.settings.rules.at("/own")).toMatchObject({ password: "q" });
  expect(lost.settings.seen.length).toBeGreaterThan(0);
});

test("another new server in place of an existing one is a choice, and the stored token is named", async () => {
  const to = as(after.port);
  const request = { document, passphrase: PASSPHRASE, only: ["sites"], dryRun: true };
  const kept = await to.backup.restoreBackup(request);
  expect(kept.results).toMatchObject([{ kept: ["url", "token"], replacedSecrets: [] }]);
  const replaced = await to.backup.restoreBackup({
    ...request,
    newServers: { home: { url: "http://127.0.0.1:9", token: "another" } },
  });
  expect(replaced.results).toMatchObject([{ kept: [], replacedSecrets: ["token"] }]);
});

test("the same restore completes one that ended before the new server had its users", async () => {
  const to = as(resumed.port);
  const { url, token } = { url: spare.url, token: spare.token() };
  // State after an interrupted restore: the site exists and is paused.
  await to.sites.createSite({ site: { name: "home", url, token, paused: true } });
  const newServer = { home: { url, token } };
  const request = { document, passphrase: PASSPHRASE, newServers: newServer };
  const isOfServers = ({ part }: { readonly part: string }) => part === "servers";
  const plan = await to.backup.restoreBackup({ ...request, dryRun: true });
  expect(plan.results.filter(isOfServers)).toMatchObject([{ name: "home", outcome: "created" }]);
  const { results } = await to.backup.restoreBackup(request);
  expect(results.filter(isOfServers)).toContainEqual(
    expect.objectContaining({ name: "home users zoe", outcome: "created" }),
  );
  expect((await to.sites.getSite({ name: "home" })).site).toMatchObject({ paused: false });
  expect(spare.settings.users.named("zoe")).toMatchObject({ base_path: "/films" });
  const zoe = spare.settings.users.named("zoe")?.id ?? 0;
  spare.settings.users.rows.delete(zoe);
  await to.sites.deleteSite({ name: "home" });
});

test("a new server in place of an existing one gets the users, and the lost one no call", async () => {
  const to = as(before.port);
  const request = {
    document,
    passphrase: PASSPHRASE,
    newServers: { home: { url: spare.url, token: spare.token() } },
  };
  const isOfServers = ({ part }: { readonly part: string }) => part === "servers";
  lost.settings.users.add({ username: "anna" });
  const plan = await to.backup.restoreBackup({ ...request, dryRun: true });
  expect(plan.results.filter(isOfServers)).toMatchObject([{ name: "home", outcome: "created" }]);
  expect(spare.settings.users.named("zoe")).toBeUndefined();
  const { results } = await to.backup.restoreBackup(request);
  expect(results.filter(isOfServers)).toContainEqual(
    expect.objectContaining({ name: "home users zoe", outcome: "created" }),
  );
  expect(spare.settings.users.named("zoe")).toMatchObject({ base_path: "/films", permission: 1 });
  expect((await to.sites.getSite({ name: "home" })).site).toMatchObject({ url: spare.url });
});

test("an existing site stays paused on its new server if sites are to be paused", async () => {
  const to = as(before.port);
  const newServer = { home: { url: lost.url, token: lost.token() } };
  const request = { document, passphrase: PASSPHRASE, only: ["sites"], newServers: newServer };
  const plan = await to.backup.restoreBackup({ ...request, pauseSites: true, dryRun: true });
  expect(plan.results[0]?.differs).toEqual(["url", "token", "paused"]);
  await to.backup.restoreBackup({ ...request, pauseSites: true });
  const { site } = await to.sites.getSite({ name: "home" });
  expect(site).toMatchObject({ url: lost.url, paused: true });
});
