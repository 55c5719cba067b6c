import { describe, expect, test } from "vitest";
import { count, localTime, pointInTime, revisionNumber } from "../../src/cli/argument.ts";

const now = Date.parse("2026-11-20T12:00:00Z");

describe("a time", () => {
  test.each([
    ["90s", now - 90_000],
    ["2h", now - 7_200_000],
    ["7d", now - 7 * 86_400_000],
    ["2w", now - 14 * 86_400_000],
    ["2026-11-20T09:30:00Z", Date.parse("2026-11-20T09:30:00Z")],
    ["2026-11-20T09:30+08:00", Date.parse("2026-11-20T01:30:00Z")],
    ["2026-11-20", new Date(2026, 10, 20).getTime()],
    ["2026-11-20 09:30", new Date(2026, 10, 20, 9, 30).getTime()],
  ])("%s is parsed", (text, time) => {
    expect(pointInTime(text, "--since", now)).toBe(time);
  });

  test.each(["yesterday", "2026-13-01", "20-11-2026", "5", "-2h", "2026-11-20T25:00"])(
    "%s is refused",
    (text) => {
      expect(() => pointInTime(text, "--since", now)).toThrow(/^--since .* is not a time/);
    },
  );

  test("is printed in the form in which it is parsed", () => {
    const shown = localTime(now);
    expect(pointInTime(shown, "--since", 0)).toBe(now);
  });
});

test("a revision and a count are whole numbers within their bounds", () => {
  expect(revisionNumber("12", "REVISION")).toBe(12n);
  for (const text of ["-1", "1.5", "x", "", "9".repeat(30)])
    expect(() => revisionNumber(text, "REVISION")).toThrow("is not the number of a revision");
  expect(count("20", "--limit", 100)).toBe(20);
  for (const text of ["0", "101", "1e1"])
    expect(() => count(text, "--limit", 100)).toThrow("is not a whole number from 1 to 100");
});
