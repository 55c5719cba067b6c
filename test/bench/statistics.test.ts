import { describe, expect, it } from "vitest";
import { differenceOf, median, quantile, ratioOf } from "../../bench/statistics.ts";

describe("figures over several rounds", () => {
  it("takes the middle, or the mean of the two middle ones", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it("interpolates quantiles", () => {
    expect(quantile([0, 10, 20, 30], 0)).toBe(0);
    expect(quantile([0, 10, 20, 30], 0.5)).toBe(15);
    expect(quantile([0, 10, 20, 30], 1)).toBe(30);
  });

  it("compares within a round, so that a slow round harms neither side", () => {
    expect(ratioOf([90, 45, 91], [100, 50, 100])).toEqual({
      median: 0.9,
      lowest: 0.9,
      highest: 0.91,
    });
    expect(differenceOf([12, 22, 33], [10, 20, 30])).toEqual({
      median: 2,
      lowest: 2,
      highest: 3,
    });
  });
});
