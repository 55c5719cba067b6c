import { Code } from "@connectrpc/connect";
import { Cron } from "croner";
import { afterEach, expect, test } from "vitest";
import type { StoredBackup } from "../../src/backups/files.ts";
import { type BackupSchedule, startBackupSchedule } from "../../src/backups/schedule.ts";
import { ServiceError } from "../../src/messages/error.ts";
import type { Text } from "../../src/messages/message.ts";

const DAY = 86_400_000;
const at = (text: string): number => Date.parse(`2026-03-10T${text}Z`);
const DAILY = new Cron("30 3 * * *", { paused: true, timezone: "UTC" });

const opened: BackupSchedule[] = [];
afterEach(async () => {
  for (const schedule of opened.splice(0)) await schedule.stop();
});

function backupOf(time: number, isOwn = true): StoredBackup {
  return { name: `backup-${time}`, time, size: 1, databaseId: isOwn ? "own" : "other", isOwn };
}

/** A schedule on a list of backups, with a clock that the test sets. */
function start(stored: StoredBackup[], now: number) {
  const world = {
    now,
    created: 0,
    error: undefined as Error | undefined,
    results: [] as Text[],
  };
  const schedule = startBackupSchedule({
    backups: {
      list: async () => stored.toSorted((a, b) => b.time - a.time),
      create: async () => {
        if (world.error !== undefined) throw world.error;
        world.created += 1;
        const backup = backupOf(world.now);
        stored.push(backup);
        return { backup, counts: {}, omissions: [], revision: 1, removed: [] };
      },
    },
    schedule: "30 3 * * *",
    timeZone: "UTC",
    keep: "daily=7",
    timeAfter: (time) => DAILY.nextRun(new Date(time))?.getTime(),
    now: () => world.now,
    interval: 5,
    onResult: async (problem) => void world.results.push(problem),
    onError: (error) => {
      throw error;
    },
  });
  opened.push(schedule);
  /** Waits for several checks of the schedule. */
  const settled = async (): Promise<void> => {
    for (let run = 0; run < 3; run += 1) {
      schedule.changed();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect
      .poll(() => schedule.state().newest !== undefined || world.results.length > 0)
      .toBe(true);
  };
  return { world, schedule, settled };
}

test.each([
  ["the first backup of a service is made at its start", [], at("12:00:00"), 1],
  ["a backup that was missed is made at the start", [at("03:30:00") - DAY], at("12:00:00"), 1],
  ["several missed ones are made up for by one", [at("03:30:00") - 9 * DAY], at("12:00:00"), 1],
  ["nothing is made before its time", [at("03:30:05") - DAY], at("03:29:59"), 0],
  ["one is made at its time", [at("03:30:05") - DAY], at("03:30:00"), 1],
  ["one by a caller since then counts", [at("11:00:00")], at("12:00:00"), 0],
  ["one by a caller before the time does not", [at("03:29:00")], at("03:31:00"), 1],
  [
    "one that was made while the clock was ahead does not",
    [at("12:00:00") + 40 * DAY],
    at("12:00:00"),
    1,
  ],
])("%s", async (_what, times, now, expected) => {
  const { world, settled } = start(
    times.map((time) => backupOf(time)),
    now,
  );
  await settled();
  expect(world.created).toBe(expected);
});

test("backups of other databases do not count", async () => {
  const { world, settled } = start([backupOf(at("11:00:00"), false)], at("12:00:00"));
  await settled();
  expect(world.created).toBe(1);
});

test("the next time is that after the newest backup", async () => {
  const { schedule, settled } = start([backupOf(at("11:00:00"))], at("12:00:00"));
  await settled();
  expect(schedule.state()).toMatchObject({
    nextTime: at("03:30:00") + DAY,
    problem: "",
    newest: { time: at("11:00:00") },
  });
});

test("a failure is reported and retried later, and its end is reported", async () => {
  const { world, schedule, settled } = start([], at("12:00:00"));
  world.error = new Error("no space");
  await settled();
  expect(schedule.state().problem).toBe("no space");
  const failures = world.results.length;
  expect(failures).toBeGreaterThan(0);
  world.error = undefined;
  world.now += 3_600_000;
  await expect.poll(() => world.created).toBe(1);
  await expect.poll(() => world.results.at(-1)).toBe("");
  expect(schedule.state().problem).toBe("");
});

test("a failure is not retried before its pause", async () => {
  const { world } = start([], at("12:00:00"));
  world.error = new Error("no space");
  await expect.poll(() => world.results.length).toBeGreaterThan(0);
  const [before] = [world.results.length];
  await new Promise((resolve) => setImmediate(resolve));
  expect(world.results.length).toBe(before);
});

test("a backup of another process ends the failure of this one", async () => {
  const stored: StoredBackup[] = [];
  const { world, schedule } = start(stored, at("12:00:00"));
  world.error = new Error("no space");
  await expect.poll(() => schedule.state().problem).toBe("no space");
  world.now += 3_600_000;
  stored.push(backupOf(world.now - 1));
  await expect.poll(() => schedule.state().problem).toBe("");
  expect(world.created).toBe(0);
});

test("a backup by another process that runs is no failure", async () => {
  const { world, schedule } = start([], at("12:00:00"));
  world.error = new ServiceError(Code.ResourceExhausted, "another one runs");
  schedule.changed();
  await new Promise((resolve) => setImmediate(resolve));
  expect(schedule.state().problem).toBe("");
  expect(world.results).toEqual([]);
});

test("a backup that no process makes is reported as late", async () => {
  const { world, schedule } = start([], at("12:00:00"));
  world.error = new ServiceError(Code.ResourceExhausted, "another one runs");
  await new Promise((resolve) => setImmediate(resolve));
  world.now += 1_000_000;
  await expect.poll(() => String(schedule.state().problem)).toContain("2026-03-10T12:00:00.000Z");
});
