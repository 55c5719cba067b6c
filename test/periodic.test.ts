import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pauseFor } from "../src/pause.ts";
import { hasCome, startPeriodic } from "../src/periodic.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

const unexpected = (error: unknown): never => {
  throw error;
};

/** Each run waits until the test ends it. */
function pendingWork() {
  const runs: PromiseWithResolvers<void>[] = [];
  const work = (): Promise<void> => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  return { work, runs };
}

test("the first run starts after the interval, and the next one an interval after its end", async () => {
  const { work, runs } = pendingWork();
  const job = startPeriodic(work, { interval: 100, onError: unexpected, random: () => 0 });
  await vi.advanceTimersByTimeAsync(104);
  expect(runs).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await vi.advanceTimersByTimeAsync(104);
  expect(runs).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(2);
  runs[1]?.resolve();
  await job.stop();
});

test.each([
  { interval: 100, random: 0, pause: 105 },
  { interval: 100, random: 1, pause: 110 },
  { interval: 60_000, random: 0, pause: 60_050 },
  { interval: 60_000, random: 1, pause: 60_100 },
])("a pause of $interval ms has random jitter: $pause at $random", async (of) => {
  const work = vi.fn();
  const { interval, random, pause } = of;
  const job = startPeriodic(work, { interval, onError: unexpected, random: () => random });
  await vi.advanceTimersByTimeAsync(pause - 1);
  expect(work).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(1);
  await job.stop();
});

test("runs requested during a run are one run after it", async () => {
  const { work, runs } = pendingWork();
  const job = startPeriodic(work, { interval: 100, onError: unexpected });
  const first = job.run();
  const pending = [job.run(), job.run()];
  expect(pending[0]).toBe(pending[1]);
  runs[0]?.resolve();
  await first;
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toHaveLength(2);
  runs[1]?.resolve();
  await Promise.all(pending);
  expect(runs).toHaveLength(2);
  await job.stop();
});

test("consecutive failures are reported once, and again after a success", async () => {
  const onError = vi.fn();
  const outcomes = ["away", "away", "other", "", "away"];
  const job = startPeriodic(
    () => {
      const reason = outcomes.shift();
      if (reason !== "") throw new Error(reason);
    },
    { interval: 100, onError },
  );
  for (let run = 0; run < 5; run += 1) await job.run();
  expect(onError.mock.calls.map(([error]) => error.message)).toEqual(["away", "other", "away"]);
  await job.stop();
});

test("without the job slot of all processes the work does not run", async () => {
  const turns = [false, true];
  const work = vi.fn();
  const claim = async () => turns.shift() ?? false;
  const job = startPeriodic(work, { interval: 100, onError: unexpected, claim });
  await job.run();
  expect(work).not.toHaveBeenCalled();
  await job.run();
  expect(work).toHaveBeenCalledTimes(1);
  await job.stop();
});

test("stop aborts the signal and waits for the run; nothing runs or is reported afterwards", async () => {
  const onError = vi.fn();
  const { work, runs } = pendingWork();
  let aborted = false;
  const job = startPeriodic(
    (signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return work();
    },
    { interval: 100, onError },
  );
  void job.run();
  const pending = job.run();
  let stopped = false;
  const stopping = job.stop().then(() => {
    stopped = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect([aborted, stopped]).toEqual([true, false]);
  runs[0]?.reject(new Error("the database was closed"));
  await stopping;
  await pending;
  await job.run();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);
  expect(onError).not.toHaveBeenCalled();
});

test("a pause ends at its time, at an abort, and at once with an aborted signal", async () => {
  const { signal } = new AbortController();
  const timed = pauseFor(50, signal);
  await vi.advanceTimersByTimeAsync(50);
  await timed;
  const stopping = new AbortController();
  const cut = pauseFor(50_000, stopping.signal);
  stopping.abort();
  await cut;
  await pauseFor(50_000, stopping.signal);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [999, true],
  [1_000, true],
  [1_001, false],
  [1_060, false],
  // Stored while the clock was ahead.
  [1_061, true],
  [1e15, true],
  [0, true],
])("at 1,000, a time of %i with pauses of at most 60 has come: %s", (time, expected) => {
  expect(hasCome(time, { now: 1_000, longest: 60 })).toBe(expected);
});
