import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createWaiter } from "../src/waiter.ts";

afterEach(() => vi.useRealTimers());

const never = new AbortController().signal;

describe("a wait", () => {
  test("ends at a notification", async () => {
    const waiter = createWaiter();
    const waiting = waiter.join([never]);
    const next = waiting.next();
    waiter.notify();
    expect(await next).toBe(true);
  });

  test("ends at once after earlier notifications, which count as one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiter = createWaiter();
    const waiting = waiter.join([never]);
    waiter.notify();
    waiter.notify();
    expect(await waiting.next(1_000)).toBe(true);
    const idle = waiting.next(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await idle).toBe(false);
  });

  test.each(["first", "second"])("ends when its %s signal is aborted", async (which) => {
    const stops = [new AbortController(), new AbortController()];
    const waiting = createWaiter().join(stops.map(({ signal }) => signal));
    const next = waiting.next();
    stops[which === "first" ? 0 : 1]?.abort();
    expect(await next).toBe(true);
    expect(await waiting.next()).toBe(true);
  });

  test("ends at once with an aborted signal", async () => {
    expect(await createWaiter().join([AbortSignal.abort()]).next()).toBe(true);
  });
});

test("a closed stream leaves no timer, no listener and no wait", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { signal } = new AbortController();
  const waiting = createWaiter().join([signal]);
  const next = waiting.next(1_000);
  expect(vi.getTimerCount()).toBe(1);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  waiting.close();
  expect(await next).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a notification resumes 250 streams per event-loop tick", async () => {
  const waiter = createWaiter();
  let resumed = 0;
  const waits = Array.from({ length: 600 }, () =>
    waiter
      .join([never])
      .next()
      .then(() => {
        resumed += 1;
      }),
  );
  waiter.notify();
  await Promise.resolve();
  await Promise.resolve();
  expect(resumed).toBe(250);
  await Promise.all(waits);
  expect(resumed).toBe(600);
});
