import { describe, expect, test } from "vitest";
import { dateOf, dayOf, dayOfDate, splitByDay } from "../../../src/incidents/days/day.ts";

const at = (text: string): number => Date.parse(text);

describe("days are days in UTC", () => {
  test.each([
    ["1970-01-01T00:00:00Z", "1970-01-01"],
    ["2026-11-26T23:59:59.999Z", "2026-11-26"],
    ["2026-11-27T00:00:00Z", "2026-11-27"],
    // Midnight in Shanghai, and in Berlin on the days on which its clocks change.
    ["2026-11-27T00:00:00+08:00", "2026-11-26"],
    ["2026-03-29T00:00:00+01:00", "2026-03-28"],
    ["2026-10-26T00:00:00+01:00", "2026-10-25"],
  ])("%s is on %s", (time, date) => {
    expect(dateOf(dayOf(at(time)))).toBe(date);
  });

  test.each([
    ["2026-11-26", "2026-11-26"],
    ["2028-02-29", "2028-02-29"],
    ["2026-02-29", undefined],
    ["2026-13-01", undefined],
    ["2026-1-1", undefined],
    ["2026-11-26T00:00:00Z", undefined],
    ["today", undefined],
    ["", undefined],
    ["2026-11-26\n", undefined],
  ])("the date %j is read as %s", (text, date) => {
    const day = dayOfDate(text);
    expect(day === undefined ? undefined : dateOf(day)).toBe(date);
  });

  test.each([
    ["2026-11-26T10:00Z", "2026-11-26T10:00Z", []],
    ["2026-11-26T10:00Z", "2026-11-26T09:00Z", []],
    ["2026-11-26T10:00Z", "2026-11-26T11:00Z", [["2026-11-26", 60]]],
    ["2026-11-26T23:00Z", "2026-11-27T00:00Z", [["2026-11-26", 60]]],
    [
      "2026-11-26T23:30Z",
      "2026-11-28T01:00Z",
      [
        ["2026-11-26", 30],
        ["2026-11-27", 1_440],
        ["2026-11-28", 60],
      ],
    ],
  ])("a period from %s to %s is split at midnight", (from, to, parts) => {
    const split = splitByDay(at(from), at(to));
    expect(split.map((part) => [dateOf(part.day), (part.to - part.from) / 60_000])).toEqual(parts);
  });
});
