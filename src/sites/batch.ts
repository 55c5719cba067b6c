import { setImmediate as nextTurn } from "node:timers/promises";
import type { SiteRecord, SiteStore } from "./store.ts";

/** Records of one transaction at most: nothing else runs meanwhile on SQLite. */
const BATCH = 16;
/**
 * How long what may wait is gathered after a transaction, in milliseconds. Each one waits for the
 * disk, on SQLite with all that this process does: a hundred sites that get a change would be a
 * hundred of them.
 */
const PACE = 50;

interface Job {
  readonly record: SiteRecord;
  readonly resolve: (version: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes what is known of sites, several in one transaction. @returns what `SiteStore.record` does. */
export function createBatches(store: Pick<SiteStore, "record">) {
  const waiting: Job[] = [];
  let isRunning = false;
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const drain = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    isRunning = true;
    while (waiting.length > 0) {
      const jobs = waiting.splice(0, BATCH);
      try {
        const versions = await store.record(jobs.map(({ record }) => record));
        for (const [at, { resolve }] of jobs.entries()) resolve(versions[at]);
      } catch (error) {
        for (const { reject } of jobs) reject(error);
      }
      if (waiting.length > 0) await nextTurn();
    }
    last = performance.now();
    isRunning = false;
  };
  return (record: SiteRecord, { isPatient } = { isPatient: false }): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      waiting.push({ record, resolve, reject });
      if (isRunning) return;
      const pause = isPatient && waiting.length < BATCH ? last + PACE - performance.now() : 0;
      if (pause <= 0) void drain();
      else timer ??= setTimeout(drain, pause);
    });
}
