import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SiteFailure } from "../../src/sync/failure.ts";
import { forwardChange } from "../../src/sync/forward.ts";
import { createQueue, type Queue } from "../../src/sync/queue.ts";

let queue: Queue;
let steps: string[];
let errors: unknown[];

const exclusive = (siteId: string, work: (job: string) => Promise<void>) =>
  queue.run(siteId, () => work(siteId));
const step = (name: string) => async () => void steps.push(name);
const forward = (changes: Partial<Parameters<typeof forwardChange<string>>[2]> = {}) =>
  forwardChange(exclusive, "a", {
    send: step("send"),
    before: step("before"),
    adopt: step("adopt"),
    onError: (error) => void errors.push(error),
    ...changes,
  });

beforeEach(() => {
  vi.useFakeTimers();
  queue = createQueue(10);
  steps = [];
  errors = [];
});

afterEach(() => void vi.useRealTimers());

test("a change is sent after earlier work on the site, and adopted before later work", async () => {
  const gate = Promise.withResolvers<void>();
  const earlier = queue.run("a", () => gate.promise.then(step("earlier")));
  const forwarded = forward();
  const later = queue.run("a", step("later"));
  gate.resolve();
  await Promise.all([earlier, forwarded, later]);
  expect(steps).toEqual(["earlier", "before", "send", "adopt", "later"]);
});

test("a change waits 5 s at most for earlier work, and its result is adopted afterwards", async () => {
  const gate = Promise.withResolvers<void>();
  const earlier = queue.run("a", () => gate.promise);
  const forwarded = forward();
  await vi.advanceTimersByTimeAsync(4_999);
  expect(steps).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(steps).toEqual(["send"]);
  gate.resolve();
  await Promise.all([earlier, forwarded]);
  expect(steps).toEqual(["send", "adopt"]);
});

test("a site that can't be read gets the change nevertheless, once", async () => {
  const fail = async () => Promise.reject(new SiteFailure("silent", "no answer"));
  await forward({ before: fail });
  await forward({ adopt: fail });
  expect([steps, errors]).toEqual([["send", "before", "send"], []]);
});

test("a change that can't be sent is the caller's error; an unexpected one is reported", async () => {
  await expect(forward({ send: async () => Promise.reject(new Error("gone")) })).rejects.toThrow(
    "gone",
  );
  errors.splice(0);
  await forward({ adopt: async () => Promise.reject(new Error("a fault")) });
  expect(errors.map(String)).toEqual(["Error: a fault"]);
});
