import { expect, onTestFinished, test } from "vitest";
import { startCompaction } from "../../src/ledger/compaction.ts";
import type { LedgerStore } from "../../src/ledger/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { commit } from "../store/sample.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;
/** Time between two runs: more than the interval. */
const PAUSE = MINUTE + 100;

/** A store with this number of revisions, a second apart. */
async function history(count: number): Promise<LedgerStore> {
  const store = await openSqliteStore(":memory:");
  onTestFinished(() => store.close());
  const revisions = Array.from({ length: count }, (_, at) => commit({ revision: at + 1 }));
  await store.transact((trx) => trx.write({ revisions, upserts: [], deletes: [], audit: [] }));
  return store;
}

/** Compaction in several processes, on a clock that the test sets. */
function compacted(store: LedgerStore, { maxCount = 1e6, maxAge = 365 * DAY, processes = 1 } = {}) {
  const clock = { now: 1_000_000 };
  const jobs = Array.from({ length: processes }, () =>
    startCompaction({
      task: "compaction",
      tryAcquireJobSlot: store.tryAcquireJobSlot,
      forget: store.compact,
      maxCount,
      maxAge,
      interval: MINUTE,
      now: () => clock.now,
      onError: (error) => expect.unreachable(String(error)),
    }),
  );
  for (const job of jobs) onTestFinished(job.stop);
  const pass = async (time: number): Promise<number> => {
    clock.now += time;
    await Promise.all(jobs.map((job) => job.run()));
    return store.oldestRevision();
  };
  return { clock, pass };
}

test("a clock that jumps ahead costs one step of the history a minute, for any number of processes", async () => {
  const store = await history(1_000);
  const { clock, pass } = compacted(store, { processes: 3 });
  expect(await pass(PAUSE)).toBe(1);
  clock.now += 400 * DAY;
  expect(await pass(PAUSE)).toBe(201);
  clock.now -= 400 * DAY;
  for (let minute = 0; minute < 5; minute += 1) expect(await pass(PAUSE)).toBe(201);
});

test("revisions that are too old are deleted in steps, and the newest is kept", async () => {
  const store = await history(500);
  const { clock, pass } = compacted(store);
  clock.now += 400 * DAY;
  expect(await pass(PAUSE)).toBe(201);
  expect(await pass(PAUSE)).toBe(401);
  expect(await pass(PAUSE)).toBe(500);
  expect(await pass(PAUSE)).toBe(500);
});

test("revisions above the maximum number are deleted at once", async () => {
  const store = await history(1_000);
  const { pass } = compacted(store, { maxCount: 100 });
  await pass(PAUSE);
  expect(await store.oldestRevision()).toBe(901);
});
