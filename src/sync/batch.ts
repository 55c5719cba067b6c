import { setImmediate as nextTurn } from "node:timers/promises";

/** Maximum number of records per transaction: SQLite runs nothing else meanwhile. */
const BATCH = 16;
/** Maximum number of rows of the records of a transaction, unless its only record has more. */
const MAX_ROWS = 500;
/**
 * Time in which deferrable writes are collected after a transaction, in milliseconds. Each
 * transaction waits for the disk, on SQLite together with all other work of this process: a change
 * for a hundred sites would be a hundred of them.
 */
const GAP = 50;

interface Job<Record, Result> {
  readonly record: Record;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes records of sites, several in one transaction. @returns what `record` returns for each.
 *
 * @param gap milliseconds between two transactions with deferrable writes; default 50.
 * @param rowsOf number of rows of a record; default: one.
 */
export function createBatches<Record, Result>(
  store: { record(records: readonly Record[]): Promise<readonly Result[]> },
  gap = GAP,
  rowsOf: (record: Record) => number = () => 1,
) {
  const waiting: Job<Record, Result>[] = [];
  let isRunning = false;
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const nextJobs = (): Job<Record, Result>[] => {
    let rows = 0;
    const end = waiting.findIndex(({ record }, at) => {
      rows += rowsOf(record);
      return at === BATCH || (at > 0 && rows > MAX_ROWS);
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  };
  const drain = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    isRunning = true;
    while (waiting.length > 0) {
      const jobs = nextJobs();
      try {
        const results = await store.record(jobs.map(({ record }) => record));
        for (const [at, { resolve }] of jobs.entries()) resolve(results[at] as Result);
      } catch (error) {
        for (const { reject } of jobs) reject(error);
      }
      if (waiting.length > 0) await nextTurn();
    }
    last = performance.now();
    isRunning = false;
  };
  return (record: Record, { isPatient } = { isPatient: false }): Promise<Result> =>
    new Promise((resolve, reject) => {
      waiting.push({ record, resolve, reject });
      if (isRunning) return;
      const pause = isPatient && waiting.length < BATCH ? last + gap - performance.now() : 0;
      if (pause <= 0) void drain();
      else timer ??= setTimeout(drain, pause);
    });
}
