import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRecorder } from "../../src/audit/recorder.ts";
import type { AuditEntry } from "../../src/audit/store.ts";
import { StoreError } from "../../src/database/error.ts";

const INTERVAL = 1_000;
const origin = { actor: "a", transport: "rest", method: "M", peer: "", requestId: "" };
const row = (at: number) => ({ origin, subjects: [], detail: { at }, isNeeded: false });

/** A recorder over rows in memory, whose writes a test can replace. */
function recording(interval = 1e9) {
  const rows: AuditEntry[] = [];
  const failures: [string, number][] = [];
  const state = {
    append: async (entries: readonly AuditEntry[]): Promise<void> => {
      rows.push(...entries);
    },
  };
  const recorder = createRecorder({
    store: { append: (entries) => state.append(entries) },
    now: () => 0,
    interval,
    onError: (error, dropped) => failures.push([(error as Error).message, dropped]),
  });
  const ordinary = state.append;
  const details = () => rows.map(({ detail }) => (detail as { at?: number }).at);
  return { recorder, rows, failures, state, ordinary, details };
}
const fail = () => Promise.reject(new StoreError("failed", "the database is away"));

test("a call that requires an audit row is refused while the row cannot be written", async () => {
  const { recorder, rows, state, ordinary } = recording();
  state.append = fail;
  await expect(recorder.record({ ...row(1), isNeeded: true })).rejects.toThrow(
    /nothing was returned.*away/,
  );
  state.append = ordinary;
  await recorder.record({ ...row(1), isNeeded: true });
  await recorder.close();
  expect(rows).toHaveLength(1);
});

test("other rows are written later, and only the newest of very many", async () => {
  const { recorder, rows, failures, state, ordinary } = recording();
  state.append = fail;
  for (let at = 0; at < 1_500; at += 1) await recorder.record(row(at));
  recorder.note({ origin, outcome: "OK" });
  await recorder.close();
  expect(rows).toEqual([]);
  state.append = ordinary;
  await recorder.close();
  expect(rows).toHaveLength(1_000);
  expect(rows.at(-1)?.detail).toMatchObject({ count: 1 });
  expect(failures.reduce((sum, [, count]) => sum + count, 0)).toBe(501);
});

test("reads over the limit of an interval are written at once, each with its actor", async () => {
  const { recorder, rows } = recording();
  const actors = Array.from({ length: 250 }, (_, at) => `p${at}/0123456789ab`);
  for (const actor of actors) recorder.note({ origin: { ...origin, actor }, outcome: "OK" });
  await expect.poll(() => rows.length).toBeGreaterThanOrEqual(200);
  await recorder.close();
  expect(rows.map(({ actor }) => actor)).toEqual(actors);
});

test("waiting refusals displace no rows of actions", async () => {
  const { recorder, rows, state, ordinary, details } = recording();
  state.append = fail;
  await recorder.record(row(1));
  for (let at = 0; at < 1_500; at += 100) {
    for (let more = at; more < at + 100; more += 1)
      recorder.note({ origin: { ...origin, actor: `p${more}` }, outcome: "PERMISSION_DENIED" });
    await recorder.close();
  }
  state.append = ordinary;
  await recorder.close();
  expect(rows).toHaveLength(1_000);
  expect(details()[0]).toBe(1);
});

describe("rows that wait for a write", () => {
  const note = (recorder: ReturnType<typeof createRecorder>, count: number) => {
    for (let at = 0; at < count; at += 1)
      recorder.note({ origin: { ...origin, actor: `p${at}` }, outcome: "OK" });
  };

  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("are kept together with those that fail during a write", async () => {
    const { recorder, state, ordinary, details } = recording(INTERVAL);
    state.append = fail;
    await recorder.record(row(1));
    const write = Promise.withResolvers<void>();
    state.append = () => write.promise;
    const closing = recorder.close();
    await vi.advanceTimersByTimeAsync(0);
    state.append = fail;
    await recorder.record(row(2));
    write.reject(new StoreError("failed", "away"));
    await closing;
    state.append = ordinary;
    await recorder.close();
    expect(details()).toEqual([1, 2]);
  });

  test("are kept when many counted calls arrive, and none is reported as dropped", async () => {
    const { recorder, rows, failures, state, ordinary, details } = recording(INTERVAL);
    state.append = fail;
    await recorder.record(row(1));
    state.append = ordinary;
    note(recorder, 250);
    await recorder.close();
    expect([details()[0], rows.length, failures]).toEqual([1, 251, [["the database is away", 0]]]);
  });

  test("are written before closing ends, also those that arrive during a write", async () => {
    const { recorder, rows, state, ordinary } = recording(INTERVAL);
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
    const { recorder, failures, state } = recording(INTERVAL);
    state.append = () => new Promise(() => undefined);
    note(recorder, 2_000);
    expect(failures.length).toBeGreaterThan(0);
    for (const [text, dropped] of failures)
      expect([text, dropped > 0]).toEqual(["rows arrive faster than they can be written", true]);
  });

  test("are not written by a job after closing", async () => {
    const { recorder, state } = recording(INTERVAL);
    const append = vi.fn(async () => void 0);
    state.append = append;
    await recorder.close();
    append.mockClear();
    recorder.note({ origin, outcome: "OK" });
    await vi.advanceTimersByTimeAsync(3 * INTERVAL);
    expect(append).not.toHaveBeenCalled();
  });
});
