// Backups and restores in a process that is killed at any moment.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { checkInProcess } from "../../../src/app/check-process.ts";
import { MOUNTS as MOUNT_KIND } from "../../../src/mounts/kind.ts";
import { SETTINGS } from "../../../src/settings/kind.ts";
import { startLocalServices } from "../../app/local-services.ts";
import { startedForAll } from "../../started.ts";
import { newDatabaseFolder } from "../../store/folder.ts";
import { BACKUPS, MOUNTS, PASSPHRASE } from "./loop.ts";

/** Number of kills; a longer run sets another one. */
const KILLS = Number(process.env["MOORING_TEST_KILLS"] ?? 12);
/** Longest time of a process, in milliseconds: several backups and restores. */
const LONGEST = 1_500;

const place = startedForAll(async () => {
  const folder = newDatabaseFolder();
  return { folder, stop: () => rm(folder, { recursive: true, force: true }) };
});

/** Runs the loop, and kills it after a time. */
async function killAfter(ms: number): Promise<void> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "loop-process.ts"), place.folder],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const ended = once(child, "exit");
  const begun = await Promise.race([once(child.stdout, "data"), ended.then(() => undefined)]);
  expect(begun, "the loop ended by itself").toBeDefined();
  await sleep(ms);
  child.kill("SIGKILL");
  expect((await ended)[1], "the loop ended by itself").toBe("SIGKILL");
}

/** Versions of all settings and mounts of the database. */
async function versions(): Promise<readonly string[]> {
  const local = await startLocalServices(place.folder);
  try {
    const snapshot = local.services.ledger.snapshot();
    const settings = ["site_title", "announcement", "aria2_secret"].map((key) =>
      String(snapshot.get(SETTINGS, key)?.value).replace("secret-", ""),
    );
    const mounts = [...snapshot.of(MOUNT_KIND).items()];
    expect([0, MOUNTS]).toContain(mounts.length);
    return [...new Set([...settings, ...mounts.map(({ members }) => String(members["remark"]))])];
  } finally {
    await local.close();
  }
}

test(`after each of ${KILLS} kills every named backup can be restored, and no restore is half done`, async () => {
  const checked = new Set<string>();
  let restored = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await killAfter(Math.random() * LONGEST);
    const files = await readdir(join(place.folder, BACKUPS)).catch(() => []);
    for (const name of files.filter((each) => each.endsWith(".json") && !checked.has(each))) {
      const content = await readFile(join(place.folder, BACKUPS, name));
      const { problem, counts } = await checkInProcess(content, PASSPHRASE);
      expect([name, String(problem)]).toEqual([name, ""]);
      expect(counts["mounts"]).toBe(MOUNTS);
      checked.add(name);
    }
    const found = await versions();
    // Before the first import there are no mounts yet.
    if (found.length === 1) restored += 1;
    expect([1, 2]).toContain(found.length);
    if (found.length > 1) expect(kill, `versions ${found}`).toBe(0);
  }
  expect(checked.size).toBeGreaterThan(0);
  expect(restored).toBeGreaterThan(0);
}, 3_600_000);
