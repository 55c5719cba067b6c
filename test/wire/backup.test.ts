// Backups beside servers, and the rights of their callers.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { type As, as, give, jsonOf } from "./access-client.ts";
import { startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";

const home = startedForAll(startWholeSite);
const away = startedForAll(startWholeSite);
const service = startedForAll(() =>
  startFollowed(
    { home, away },
    {
      env: {
        MOORING_BACKUP_DIR: "backups",
        MOORING_BACKUP_PASSPHRASE: "passphrase of the service",
      },
      siteTimes: { tick: 30, read: 60 },
    },
  ),
);
const admin = startedForAll(() => as(service.port));

const withScopes = async (scopes: readonly string[], name: string, limits: string[] = []) =>
  as(service.port, (await give(admin, scopes, limits, name)).text);

let exporter: As;
let importer: As;
let reader: As;
let limited: As;
beforeAll(async () => {
  exporter = await withScopes(["backup:export"], "exporter");
  importer = await withScopes(["backup:import"], "importer");
  reader = await withScopes(["settings:read"], "reader");
  limited = await withScopes(["backup:export", "backup:import"], "limited", ["key:site_*"]);
});
beforeEach(() => rm(join(service.folder, "backups"), { recursive: true, force: true }));

test("a server that does not answer is named, and the backup has the rest", async () => {
  await away.stop();
  const { backup, counts, omissions } = await admin.backup.createBackup({});
  expect(backup?.own).toBe(true);
  expect(counts).toMatchObject([
    { part: "sites", count: 2 },
    { part: "servers", count: 1 },
    { part: "settings" },
    { part: "mounts" },
    { part: "rules" },
    { part: "webhooks" },
    { part: "principals" },
  ]);
  expect(omissions.filter(({ part }) => part === "servers")).toMatchObject([
    { names: ["away"], reason: expect.stringMatching(/./) },
  ]);
  const checked = await admin.backup.checkBackup({ name: backup?.name ?? "" });
  expect(checked.problem).toBe("");
  expect(checked.omissions).toEqual(omissions);
});

test("a token that may export makes, lists, checks and prunes backups", async () => {
  const { backup, omissions } = await exporter.backup.createBackup({});
  const { backups } = await exporter.backup.listBackups({});
  expect(backups).toEqual([backup]);
  const checked = await exporter.backup.checkBackup({ name: backup?.name ?? "" });
  expect(checked.problem).toBe("");
  // It may not read sites: those that did not answer are not named.
  const parts = [...omissions, ...checked.omissions, ...checked.losses].map(({ part }) => part);
  expect(parts).not.toContain("servers");
  expect((await exporter.backup.pruneBackups({})).removed).toEqual([]);
});

/** Calls that must be refused. */
const REFUSED: readonly [string, () => Promise<unknown>][] = [
  [
    "a passphrase of a caller who is not root, in the place of the service",
    () => exporter.backup.createBackup({ passphrase: "passphrase of the caller" }),
  ],
  [
    "the admin token for a caller who is not root",
    () => exporter.backup.createBackup({ includeServerOwn: true }),
  ],
  [
    "a download with the passphrase of the service",
    () => exporter.backup.createBackup({ download: true }),
  ],
  [
    "a download of secrets without the scopes to reveal them",
    () => exporter.backup.createBackup({ download: true, passphrase: "passphrase of the caller" }),
  ],
  ["a restore by a token that may export", () => exporter.backup.restoreBackup({ name: "any" })],
  ["a backup by a token that may import", () => importer.backup.createBackup({})],
  ["a list by a token that may import", () => importer.backup.listBackups({})],
  ["a check by a token that may import", () => importer.backup.checkBackup({ name: "any" })],
  ["a pruning by a token that may import", () => importer.backup.pruneBackups({})],
  ["a list by any other token", () => reader.backup.listBackups({})],
  ["a backup by a token with limits", () => limited.backup.createBackup({})],
  ["a list by a token with limits", () => limited.backup.listBackups({})],
  ["a restore by a token with limits", () => limited.backup.restoreBackup({ name: "any" })],
];

test.each(REFUSED)("refused: %s", async (_what, call) => {
  await expect(call()).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test("a restore by a token restores only the parts that it may import, and names the others", async () => {
  const { backup } = await admin.backup.createBackup({});
  const { results, skipped } = await importer.backup.restoreBackup({
    name: backup?.name ?? "",
    dryRun: true,
  });
  expect(new Set(results.map(({ part }) => part))).toEqual(new Set(["settings"]));
  expect(skipped.map(({ part }) => part)).toEqual(
    expect.arrayContaining(["sites", "principals", "servers"]),
  );
});

test("a restore names what its backup lacks only to callers who may read the part", async () => {
  await away.stop();
  const { backup } = await admin.backup.createBackup({});
  const request = { name: backup?.name ?? "", dryRun: true };
  const named = async ({ backup: caller }: As) =>
    (await caller.restoreBackup(request)).omissions.map(({ part, names }) => [part, ...names]);
  expect(await named(admin)).toContainEqual(["servers", "away"]);
  expect((await named(importer)).flat()).not.toContain("away");
  const document = { format: "mooring-archive", version: 1, settings: [], leftOut: [] };
  const own = { ...document, leftOut: [{ part: "servers", names: ["mine"], reason: "" }] };
  const { omissions } = await importer.backup.restoreBackup({ document: own, dryRun: true });
  expect(omissions).toMatchObject([{ names: ["mine"] }]);
});

test("no secret and no token is in the log, in the audit or in the list", async () => {
  await admin.backup.createBackup({});
  const list = JSON.stringify((await admin.backup.listBackups({})).backups.map(({ name }) => name));
  const { events } = await admin.audit.listAuditEvents({});
  const all = list + jsonOf(events) + service.log();
  for (const secret of ["passphrase of the service", TOKEN]) expect(all).not.toContain(secret);
});

test("a name is never a path", async () => {
  for (const name of ["../mooring.db", "/etc/passwd", "backups/../mooring.db"])
    await expect(admin.backup.checkBackup({ name })).rejects.toMatchObject({ code: Code.NotFound });
});
