// Backups and restores in a process that is killed at any moment.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { SecretsMode } from "../../../gen/mooring/v1/backup_service_pb.js";
import { ROOT } from "../../../src/access/grant.ts";
import { checkInProcess } from "../../../src/app/check-process.ts";
import { type LocalServices, startLocalServices } from "../../app/local-services.ts";
import { quickKey } from "../../archive/text.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { newDatabaseFolder } from "../../store/folder.ts";
import {
  BACKUPS,
  CHOICES,
  documentOf,
  MOUNTS,
  ORIGIN,
  PASSPHRASE,
  PRINCIPALS,
  RULES,
  USER,
  VERSIONS,
  WEBHOOKS,
} from "./loop.ts";

/** Number of kills; a longer run sets another one. */
const KILLS = Number(process.env["MOORING_TEST_KILLS"] ?? 12);
/** Longest time of a process, in milliseconds: several backups and restores. */
const LONGEST = 1_500;

const place = startedForAll(async () => {
  const folder = newDatabaseFolder();
  return { folder, stop: () => rm(folder, { recursive: true, force: true }) };
});
const home = startedForAll(() => startStandIn());

/** Runs the loop, and kills it after a time. */
async function killAfter(ms: number): Promise<void> {
  if (home.users.named(USER.username) === undefined) home.users.add(USER);
  const program = join(import.meta.dirname, "loop-process.ts");
  const child = spawn(process.execPath, [program, place.folder, home.url, home.token()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const begun = await Promise.race([once(child.stdout, "data"), ended.then(() => undefined)]);
  expect(begun, "the loop ended by itself").toBeDefined();
  await sleep(ms);
  child.kill("SIGKILL");
  expect((await ended)[1], "the loop ended by itself").toBe("SIGKILL");
}

type Entry = Readonly<Record<string, unknown>>;

/** Entries of all parts, with their secrets. */
async function stored({
  call,
}: LocalServices): Promise<Readonly<Record<string, readonly Entry[]>>> {
  const reply = await call("ExportArchive", { secrets: SecretsMode.CLEAR });
  return (reply as unknown as { document: Record<string, readonly Entry[]> }).document;
}

/** Versions of values of entries. */
function versionsOf(entries: readonly Entry[] = []): readonly string[] {
  const text = JSON.stringify(entries);
  return VERSIONS.filter((version) => text.includes(version));
}

/** Asserts after a kill that each entry is complete. @returns whether all entries are of one version. */
async function check(services: LocalServices): Promise<boolean> {
  const { settings, mounts = [], rules = [], ...others } = await stored(services);
  const { sites = [], webhooks = [], principals = [] } = others;
  // One revision of the ledger.
  expect([0, MOUNTS]).toContain(mounts.length);
  expect(rules.length).toBe(mounts.length === 0 ? 0 : RULES);
  const ledger = [settings, mounts, rules].map((entries) => versionsOf(entries).join());
  expect(new Set(ledger).size, `versions ${ledger}`).toBe(1);
  expect(versionsOf(mounts).length).toBe(mounts.length === 0 ? 0 : 1);
  // Others are written entry by entry, each as a whole.
  for (const entry of [...sites, ...webhooks]) expect(versionsOf([entry])).toHaveLength(1);
  expect(webhooks.length).toBeLessThanOrEqual(WEBHOOKS);
  expect([0, PRINCIPALS]).toContain(principals.length);
  for (const { tokens, secrets } of principals) {
    expect(tokens).toHaveLength(2);
    expect(Object.keys(secrets as object)).toHaveLength(2);
  }
  // A user of a server is created by one call.
  const user = home.users.named(USER.username);
  if (user !== undefined) expect(user).toMatchObject(USER);
  return versionsOf([...mounts, ...sites, ...webhooks]).length === 1;
}

test(`after each of ${KILLS} kills every named backup can be restored, no entry is half restored, and the same restore completes it`, async () => {
  const checked = new Set<string>();
  let incomplete = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await killAfter(Math.random() * LONGEST);
    const files = await readdir(join(place.folder, BACKUPS)).catch(() => []);
    for (const name of files.filter((each) => each.endsWith(".json") && !checked.has(each))) {
      const content = await readFile(join(place.folder, BACKUPS, name));
      const { problem, counts } = await checkInProcess(content, PASSPHRASE, {}, quickKey);
      expect([name, String(problem)]).toEqual([name, ""]);
      expect(counts).toMatchObject({ mounts: MOUNTS, rules: RULES, webhooks: WEBHOOKS, sites: 2 });
      checked.add(name);
    }
    const local = await startLocalServices(place.folder);
    try {
      if (await check(local)) continue;
      incomplete += 1;
      const caller = { grant: ROOT, origin: { ...ORIGIN, reason: "" } };
      await local.services.archive.import(
        documentOf("alpha", { url: home.url, token: home.token() }),
        caller,
        CHOICES,
      );
      expect(await check(local)).toBe(true);
    } finally {
      await local.close();
    }
  }
  expect(checked.size).toBeGreaterThan(0);
  process.stdout.write(`${KILLS} kills: ${checked.size} backups, ${incomplete} completed\n`);
}, 3_600_000);
