import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRateLimit } from "../src/rate-limit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a single caller continues at once; waiting ones continue one after the other, in order", async () => {
  const rateLimit = createRateLimit(4);
  const passed: string[] = [];
  const go = async (name: string): Promise<void> => {
    await rateLimit();
    passed.push(name);
  };
  void go("a");
  void go("b");
  void go("c");
  await vi.advanceTimersByTimeAsync(3);
  expect(passed).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(passed).toEqual(["a", "b"]);
  await vi.advanceTimersByTimeAsync(4);
  expect(passed).toEqual(["a", "b", "c"]);
  void go("d");
  await vi.advanceTimersByTimeAsync(3);
  expect(passed).toEqual(["a", "b", "c"]);
  await vi.advanceTimersByTimeAsync(100);
  void go("e");
  await vi.advanceTimersByTimeAsync(0);
  expect(passed).toEqual(["a", "b", "c", "d", "e"]);
});
