import { expect, onTestFinished, test, vi } from "vitest";
import { createTicks } from "../src/ticks.ts";

test("a job yields to the next tick when it has used its time, which then begins again", async () => {
  let now = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const ticks = createTicks();
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

test("one job continues in each tick of the event loop, in turn", async () => {
  const loops = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;
  const steps: { readonly job: number; readonly loop: number }[] = [];
  const run = async (job: number): Promise<void> => {
    const ticks = createTicks();
    for (let step = 0; step < 5; step += 1) {
      await ticks.next();
      steps.push({ job, loop: loops() });
    }
  };
  await Promise.all([0, 1, 2, 3].map(run));
  expect(new Set(steps.map(({ loop }) => loop)).size).toBe(20);
  expect(steps.map(({ job }) => job)).toEqual(Array.from({ length: 20 }, (_, at) => at % 4));
});

test("jobs that begin in one tick share its time", async () => {
  await new Promise(setImmediate);
  let now = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const first = createTicks();
  now += 8;
  expect(first.isDue()).toBe(true);
  const second = createTicks();
  expect(second.isDue()).toBe(true);
  await second.next();
  expect(second.isDue()).toBe(false);
  now += 8;
  await new Promise(setImmediate);
  expect(createTicks().isDue()).toBe(false);
});
