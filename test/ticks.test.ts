import { expect, test, vi } from "vitest";
import { createTicks } from "../src/ticks.ts";

test("a job yields to the next tick when it has used its time, which then begins again", async () => {
  let now = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const ticks = createTicks(8);
  now += 7;
  expect(ticks.isDue()).toBe(false);
  now += 1;
  expect(ticks.isDue()).toBe(true);
  let served = 0;
  setImmediate(() => {
    served += 1;
  });
  await ticks.next();
  expect(served).toBe(1);
  expect(ticks.isDue()).toBe(false);
  clock.mockRestore();
});
