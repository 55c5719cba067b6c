// The schedule of a running service: the first backup, and the ways in which a failure is reported.
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { newDatabaseFolder } from "../store/folder.ts";
import { as } from "./access-client.ts";
import { startService } from "./service.ts";

/** The place of backups of a test; removed when its services have ended. */
let place: string;
beforeEach(() => {
  const folder = newDatabaseFolder();
  place = join(folder, "backups");
  onTestFinished(() => rm(folder, { recursive: true }));
});

const start = async (
  more: Readonly<Record<string, string>> = {},
  options: Parameters<typeof startService>[0] = {},
) => {
  const service = await startService({
    env: {
      MOORING_BACKUP_DIR: place,
      MOORING_BACKUP_SCHEDULE: "30 3 * * *",
      MOORING_BACKUP_PASSPHRASE: "passphrase of the service",
      ...more,
    },
    backupInterval: 30,
    ...options,
  });
  onTestFinished(service.stop);
  return service;
};

const readyz = async (port: number) => {
  const reply = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
  return `${reply.status} ${await reply.text()}`;
};

test("a service with a schedule makes its first backup at the start", async () => {
  const service = await start();
  const admin = as(service.port);
  await expect
    .poll(() => readdir(place).catch(() => []))
    .toEqual([expect.stringMatching(/\.json$/)]);
  await expect
    .poll(() => readyz(service.port))
    .toMatch(/^200 .*backups: ok \(newest 0 min ago; next in \d+ (min|h|days)\b/s);
  const { schedule, timeZone, keep, problem, nextTime } = await admin.backup.listBackups({});
  expect({ schedule, keep, problem }).toEqual({
    schedule: "30 3 * * *",
    keep: "daily=7,weekly=4,monthly=12",
    problem: "",
  });
  expect(timeZone).not.toBe("");
  expect(Number(nextTime?.seconds) * 1000).toBeGreaterThan(Date.now());
  expect(service.mooring.gauges().backup).toMatchObject({
    isFailing: false,
    size: expect.any(Number),
  });
});

test("a failure is an incident, in the status and in the metrics, and its end closes it", async () => {
  // The place is a file.
  await writeFile(place, "");
  const service = await start();
  const admin = as(service.port);
  const incidents = async () => (await admin.incidents.listIncidents({})).incidents;
  await expect.poll(async () => (await incidents()).length).toBe(1);
  expect(String((await incidents())[0]?.message)).toContain(place);
  expect(await readyz(service.port)).toMatch(/^200 .*backups: ok \(failing: /s);
  expect(service.mooring.gauges().backup).toMatchObject({ isFailing: true, time: 0 });
  await rm(place);
  await admin.backup.createBackup({});
  await expect.poll(async () => (await incidents()).length).toBe(0);
  expect(service.mooring.gauges().backup).toMatchObject({ isFailing: false });
});

test.each([
  ["61 3 * * *", /MOORING_BACKUP_SCHEDULE is not a cron expression/],
  ["daily", /MOORING_BACKUP_SCHEDULE is not a cron expression/],
  ["0 0 30 2 *", /MOORING_BACKUP_SCHEDULE is not a cron expression/],
])("the start fails with the schedule %j", async (schedule, reason) => {
  await expect(start({ MOORING_BACKUP_SCHEDULE: schedule })).rejects.toThrow(reason);
});

test("two services on one database make one backup", async () => {
  const first = await start();
  const second = await start({}, { folder: first.folder });
  const newest = () => [first, second].map(({ mooring }) => mooring.gauges().backup?.time ?? 0);
  await expect.poll(() => newest().every((time) => time > 0)).toBe(true);
  expect(await readdir(place)).toHaveLength(1);
});
