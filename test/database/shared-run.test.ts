import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { oncePerTick, oneAtATime } from "../../src/database/replica.ts";

describe("calls in the same event-loop tick", () => {
  test("share one run, and the next tick has its own", async () => {
    const look = vi.fn(() => look.mock.calls.length);
    const ask = oncePerTick(look);
    expect(await Promise.all([ask(), ask(), Promise.resolve().then(ask)])).toEqual([1, 1, 1]);
    await nextTurn();
    expect(await ask()).toBe(2);
  });

  test("share a run that begins after the last of them", async () => {
    let state = "before";
    const ask = oncePerTick(() => state);
    const first = ask();
    state = "between";
    expect(await Promise.all([first, ask()])).toEqual(["between", "between"]);
  });

  test("do not share a run in progress", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = vi.fn<() => string | Promise<string>>(() => "later").mockReturnValueOnce(promise);
    const ask = oncePerTick(look);
    const first = ask();
    await nextTurn();
    const second = ask();
    resolve("early");
    expect(await Promise.all([first, second])).toEqual(["early", "later"]);
  });

  test("all fail with a failed run, and the next tick runs again", async () => {
    const look = vi
      .fn(() => "fine")
      .mockImplementationOnce(() => {
        throw new Error("no look");
      });
    const ask = oncePerTick(look);
    const both = await Promise.allSettled([ask(), ask()]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await ask()).toBe("fine");
  });
});

describe("work that runs one at a time", () => {
  /** Work whose runs the test ends in order. */
  const started = () => {
    const runs: PromiseWithResolvers<number>[] = [];
    const shared = oneAtATime(() => {
      const run = Promise.withResolvers<number>();
      runs.push(run);
      return run.promise;
    });
    return { runs, ...shared };
  };

  test("has one further run for all calls during a run", async () => {
    const { runs, run, isRunning } = started();
    expect(isRunning()).toBe(false);
    const first = run();
    const later = [run(), run()];
    expect([runs.length, isRunning()]).toEqual([1, true]);
    runs[0]?.resolve(1);
    expect(await first).toBe(1);
    await expect.poll(() => runs.length).toBe(2);
    expect(isRunning()).toBe(true);
    const third = run();
    runs[1]?.resolve(2);
    expect(await Promise.all(later)).toEqual([2, 2]);
    await expect.poll(() => runs.length).toBe(3);
    runs[2]?.resolve(3);
    expect(await third).toBe(3);
    expect(isRunning()).toBe(false);
    void run();
    expect(runs).toHaveLength(4);
    runs[3]?.resolve(4);
  });

  test("continues after a failed run, and counts as running until the next run has begun", async () => {
    const { runs, run, isRunning } = started();
    const first = run();
    const running = first.catch(() => isRunning());
    const second = run();
    runs[0]?.reject(new Error("away"));
    expect(await running).toBe(true);
    await expect.poll(() => runs.length).toBe(2);
    runs[1]?.resolve(2);
    expect(await second).toBe(2);
  });
});
