import { expect, test } from "vitest";
import { chooseKept } from "../../src/backups/keep.ts";
import {
  backupName,
  isUnfinished,
  readBackupName,
  unfinishedName,
} from "../../src/backups/name.ts";
import { keepCounts } from "../../src/config/backup.ts";

const context = { cwd: "/", parallelism: 1 };

/** One backup at noon of each of the last days, newest first. */
const days = Array.from({ length: 800 }, (_, ago) => {
  const date = new Date(2026, 10, 26 - ago, 12);
  const two = (number: number): string => String(number).padStart(2, "0");
  const name = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return { name, time: date.getTime() };
});

test.each([
  ["the newest ones", { last: 2 }, ["2026-11-26", "2026-11-25"]],
  ["one a day", { daily: 3 }, ["2026-11-26", "2026-11-25", "2026-11-24"]],
  // 2026-11-22 and 2026-11-15 are Sundays, the last days of their weeks.
  ["one a week", { weekly: 3 }, ["2026-11-26", "2026-11-22", "2026-11-15"]],
  ["one a month", { monthly: 3 }, ["2026-11-26", "2026-10-31", "2026-09-30"]],
  ["one a year", { yearly: 3 }, ["2026-11-26", "2025-12-31", "2024-12-31"]],
  [
    "all of them together",
    { last: 1, monthly: 2, daily: 2 },
    ["2026-11-26", "2026-11-25", "2026-10-31"],
  ],
  ["none", { daily: 0 }, []],
])("keeps %s", (_what, keep, names) => {
  expect([...chooseKept(days, keep)].sort().reverse()).toEqual(names);
});

test("keeps the newest of several backups of a day, and of an hour", () => {
  const at = (hour: number, minute: number) => ({
    name: `${hour}:${minute}`,
    time: new Date(2026, 10, 26, hour, minute).getTime(),
  });
  const backups = [at(14, 30), at(14, 10), at(13, 50), at(2, 0)];
  expect([...chooseKept(backups, { daily: 7 })]).toEqual(["14:30"]);
  expect([...chooseKept(backups, { hourly: 2 })]).toEqual(["14:30", "13:50"]);
});

test("periods without a backup do not count", () => {
  const backups = [days[0], days[100], days[500]].flatMap((day) => day ?? []);
  expect(chooseKept(backups, { monthly: 3 }).size).toBe(3);
});

test.each([
  ["daily=7,weekly=4,monthly=12", { daily: 7, weekly: 4, monthly: 12 }],
  [" last=3 , yearly=1 ", { last: 3, yearly: 1 }],
])("reads %j", (text, value) => {
  expect(keepCounts(text, context)).toEqual({ value });
});

test.each([
  ["", "is not a list"],
  ["daily", "is not a list"],
  ["daily=-1", "is not a list"],
  ["daily=10001", "is not a list"],
  ["fortnightly=1", "is not a list"],
  ["daily=1,daily=2", "has daily twice"],
  ["constructor=1", "is not a list"],
  ["daily=0,last=0", "keeps no backup"],
])("refuses %j", (text, reason) => {
  expect(keepCounts(text, context)).toMatchObject({ complaint: expect.stringContaining(reason) });
});

test("a name has its time and its database", () => {
  const facts = { time: Date.UTC(2026, 0, 2, 3, 4, 5, 678), databaseId: "4f1-c6_2e" };
  const name = backupName(facts);
  expect(name).toBe("mooring-backup-20260102T030405678Z-4f1-c6_2e.json");
  expect(readBackupName(name)).toEqual(facts);
  expect(isUnfinished(unfinishedName(name), "4f1-c6_2e")).toBe(true);
  expect(isUnfinished(unfinishedName(name), "other")).toBe(false);
  expect(isUnfinished(name, "4f1-c6_2e")).toBe(false);
});

test.each([
  "mooring-backup-20260102T030405678Z-4f1c6d2e.json.part",
  "mooring-backup-20261302T030405678Z-4f1c6d2e.json",
  "mooring-backup-20260102T030405678Z-../x.json",
  "mooring-backup-20260102T030405678Z-.json",
  "../mooring-backup-20260102T030405678Z-4f1c6d2e.json",
  "mooring.db",
])("%s is not the name of a backup", (name) => {
  expect(readBackupName(name)).toBeUndefined();
});
