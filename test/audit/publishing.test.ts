import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startCheckpoints } from "../../src/audit/checkpoint.ts";
import type { PublishedPosition } from "../../src/audit/store.ts";

const HOUR = 3_600_000;
const INTERVAL = 1_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("a checkpoint", () => {
  /** Checkpoints over an in-memory store, which begins with one of row 1 at time 0. */
  const publishing = () => {
    const state = { seq: 1, now: 0 };
    let last: PublishedPosition = { seq: 1, hash: "", time: 0 };
    const published = vi.fn(async () => last);
    const onPublished = vi.fn();
    const checkpoints = startCheckpoints({
      store: {
        origin: "o",
        head: async () => ({ seq: state.seq, hash: "00".repeat(32) }),
        published,
        publish: async (_before, next) => {
          last = next;
          return true;
        },
      },
      interval: INTERVAL,
      now: () => state.now,
      onPublished,
      onError: (error) => expect.unreachable(String(error)),
    });
    onTestFinished(checkpoints.stop);
    const advance = () => vi.advanceTimersByTimeAsync(2 * INTERVAL);
    return { state, published, onPublished, checkpoints, advance };
  };

  test("is due an hour after the last one, without a read of the database", async () => {
    const { state, onPublished, checkpoints, advance } = publishing();
    state.seq = 2;
    state.now = HOUR - 1;
    await advance();
    expect(onPublished).not.toHaveBeenCalled();
    state.now = HOUR;
    await advance();
    expect(onPublished).toHaveBeenCalledOnce();
    expect([checkpoints.published()?.seq, checkpoints.newest()]).toEqual([2, 2]);
  });

  test("is read from the database only at first and when one is due", async () => {
    const { state, published, advance } = publishing();
    await advance();
    await advance();
    expect(published).toHaveBeenCalledOnce();
    // A checkpoint is also due after 1,000 rows.
    state.seq = 1_001;
    await advance();
    expect(published).toHaveBeenCalledTimes(2);
  });
});
