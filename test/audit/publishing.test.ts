import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startCheckpoints } from "../../src/audit/checkpoint.ts";
import { createRecorder } from "../../src/audit/recorder.ts";
import type { AuditEntry, PublishedPosition } from "../../src/audit/store.ts";

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
      ...{ interval: INTERVAL, now: () => state.now, onPublished },
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
    state.seq = 1_001;
    await advance();
    expect(published).toHaveBeenCalledTimes(2);
  });
});

describe("rows that wait for a write", () => {
  const origin = { actor: "a", transport: "rest", method: "M", peer: "", requestId: "" };
  const done = (at: number) => ({
    ...{ origin, subjects: [], detail: { at }, isNeeded: false },
  });
  const recording = () => {
    const rows: AuditEntry[] = [];
    const failures: [string, number][] = [];
    const state = {
      append: async (entries: readonly AuditEntry[]): Promise<void> => {
        rows.push(...entries);
      },
    };
    const recorder = createRecorder({
      store: { append: (entries) => state.append(entries) },
      ...{ now: () => 0, interval: INTERVAL },
      onError: (error, dropped) => failures.push([(error as Error).message, dropped]),
    });
    const ordinary = state.append;
    const details = () => rows.map(({ detail }) => (detail as { at?: number }).at);
    return { recorder, rows, failures, state, ordinary, details };
  };
  const fail = () => Promise.reject(new Error("away"));
  const note = (recorder: ReturnType<typeof createRecorder>, count: number) => {
    for (let at = 0; at < count; at += 1)
      recorder.note({ origin: { ...origin, actor: `p${at}` }, outcome: "OK" });
  };

  test("are kept together with those that fail during a write", async () => {
    const { recorder, state, ordinary, details } = recording();
    state.append = fail;
    await recorder.record(done(1));
    const write = Promise.withResolvers<void>();
    state.append = () => write.promise;
    const closing = recorder.close();
    await vi.advanceTimersByTimeAsync(0);
    state.append = fail;
    await recorder.record(done(2));
    write.reject(new Error("away"));
    await closing;
    state.append = ordinary;
    await recorder.close();
    expect(details()).toEqual([1, 2]);
  });

  test("are kept when many counted calls arrive, and none is reported as dropped", async () => {
    const { recorder, rows, failures, state, ordinary, details } = recording();
    state.append = fail;
    await recorder.record(done(1));
    state.append = ordinary;
    note(recorder, 250);
    await recorder.close();
    expect([details()[0], rows.length, failures]).toEqual([1, 251, [["away", 0]]]);
  });

  test("are written before closing ends, also those that arrive during a write", async () => {
    const { recorder, rows, state, ordinary } = recording();
    const write = Promise.withResolvers<void>();
    state.append = async (entries) => {
      await write.promise;
      await new Promise((resolve) => setImmediate(resolve));
      await ordinary(entries);
    };
    // A hundred are written at once; the last one waits for the next write.
    note(recorder, 101);
    await vi.advanceTimersByTimeAsync(0);
    const onClosed = vi.fn();
    const closing = recorder.close().then(onClosed);
    await vi.advanceTimersByTimeAsync(0);
    expect(onClosed).not.toHaveBeenCalled();
    write.resolve();
    await closing;
    expect(rows).toHaveLength(101);
  });

  test("are dropped beyond a thousand, which is reported", async () => {
    const { recorder, failures, state } = recording();
    state.append = () => new Promise(() => undefined);
    note(recorder, 2_000);
    expect(failures.length).toBeGreaterThan(0);
    for (const [text, dropped] of failures)
      expect([text, dropped > 0]).toEqual(["rows arrive faster than they can be written", true]);
  });

  test("are not written by a job after closing", async () => {
    const { recorder, state } = recording();
    const append = vi.fn(async () => void 0);
    state.append = append;
    await recorder.close();
    append.mockClear();
    recorder.note({ origin, outcome: "OK" });
    await vi.advanceTimersByTimeAsync(3 * INTERVAL);
    expect(append).not.toHaveBeenCalled();
  });
});
