import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRepeats } from "../../src/telemetry/log.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function collected(subjects = 256) {
  const lines: (readonly [string, number])[] = [];
  const write = (line: string, times: number): void => void lines.push([line, times]);
  return { lines, repeats: createRepeats({ write, interval: 1_000, subjects }) };
}

test("the first line is written at once, those of the next interval as one", () => {
  const { lines, repeats } = collected();
  for (const line of ["a", "b", "c", "d"]) repeats.add("peer", line);
  expect(lines).toEqual([["a", 1]]);
  vi.advanceTimersByTime(1_000);
  expect(lines).toEqual([
    ["a", 1],
    ["d", 3],
  ]);
});

test("a continuous flood has one line per interval, and is dropped when it is over", () => {
  const { lines, repeats } = collected();
  for (let interval = 0; interval < 3; interval += 1) {
    for (let call = 0; call < 100; call += 1) repeats.add("peer", "again");
    vi.advanceTimersByTime(1_000);
  }
  expect(lines.map(([, times]) => times)).toEqual([1, 99, 100, 100]);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  repeats.add("peer", "later");
  expect(lines.at(-1)).toEqual(["later", 1]);
});

test("subjects are separate up to a maximum; the others are one", () => {
  const { lines, repeats } = collected(2);
  for (const peer of ["one", "two", "three", "four", "five"]) repeats.add(peer, peer);
  expect(lines).toEqual([
    ["one", 1],
    ["two", 1],
    ["three", 1],
  ]);
  expect(vi.getTimerCount()).toBe(3);
  vi.advanceTimersByTime(1_000);
  expect(lines.at(-1)).toEqual(["five", 2]);
});
