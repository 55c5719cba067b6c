import { describe, expect, it } from "vitest";
import { verdictOf } from "../../bench/experiment.ts";
import { median, quantile, ratiosOf } from "../../bench/statistics.ts";

describe("figures of several rounds", () => {
  it("have the median, or the mean of the two middle ones", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it("interpolate quantiles", () => {
    expect(quantile([0, 10, 20, 30], 0)).toBe(0);
    expect(quantile([0, 10, 20, 30], 0.5)).toBe(15);
    expect(quantile([0, 10, 20, 30], 1)).toBe(30);
  });

  it("are compared within a round, so that a slow round has no effect", () => {
    expect(ratiosOf([90, 45, 91], [100, 50, 100])).toEqual([0.9, 0.9, 0.91]);
  });

  it("leave out rounds that only one side has", () => {
    expect(ratiosOf([1, 2, 3], [2])).toEqual([0.5]);
  });

  it("give a verdict the median with the range of the rounds", () => {
    const range = { value: 2, lowest: 1, highest: 4 };
    expect(verdictOf("reads", [4, 1, 2], "×", { atMost: 3 })).toEqual({
      text: "reads",
      unit: "×",
      target: { atMost: 3 },
      ...range,
    });
    expect(verdictOf("reads", [4, 1, 2], "×")).toEqual({ text: "reads", unit: "×", ...range });
  });
});
