import { expect, test } from "vitest";
import { pauseAfter } from "../../src/sync/back-off.ts";
import { countCorrection, recentCorrections } from "../../src/sync/flapping.ts";

const NOW = 10_000_000;
const PERIOD = 600_000;

test.each<[ages: number[], isFlapping: boolean, counted: number]>([
  [[], false, 1],
  [[1, 2], false, 3],
  [[1, 2, 3], true, 3],
  [[1, 2, PERIOD], false, 3],
  [[PERIOD, PERIOD + 1, PERIOD + 2], false, 1],
  // The clock was set back.
  [[-1, -2, -3], true, 3],
  [[-PERIOD], false, 1],
])("a correction after others %j ms ago: flapping %s, %i counted", (ages, isFlapping, counted) => {
  const times = ages.map((age) => NOW - age);
  const now = countCorrection(times, NOW);
  expect([now.isFlapping, now.times.length]).toEqual([isFlapping, counted]);
  expect(recentCorrections(now.times, NOW)).toEqual(now.times);
});

test.each([
  [0, 1],
  [1, 1],
  [2, 2],
  [6, 32],
  [7, 60],
  [1_000_000, 60],
])("after %i failures the pause is %i s", (failures, seconds) => {
  expect(pauseAfter(failures, { first: 1_000, longest: 60_000 })).toBe(seconds * 1_000);
});
