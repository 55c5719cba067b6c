import { freshFailure, StoreError } from "./error.ts";

/**
 * Shares one check among all calls of an event-loop tick. The check runs at the end of the tick, after
 * all of them, and all continue together, which takes half of the CPU time of separate checks in a
 * busy process (docs/decisions/0016-calls-of-a-turn-together.md).
 *
 * @returns a function whose result is that of the shared check, or its failure.
 */
export function oncePerTick<T>(read: () => T | Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  const atEndOfTick = (): Promise<T> =>
    new Promise((resolve, reject) => {
      setImmediate(() => {
        shared = undefined;
        try {
          resolve(read());
        } catch (error) {
          reject(error);
        }
      });
    });
  return () => {
    shared ??= atEndOfTick();
    return shared;
  };
}

/**
 * Serializes runs of `work`. Calls during a run share the next run, because the current one may
 * have begun before their change.
 */
export function oneAtATime<T>(work: () => Promise<T>) {
  let present: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    present = work().finally(() => {
      present = undefined;
    });
    return present;
  };
  return {
    isRunning: () => present !== undefined || next !== undefined,
    run: (): Promise<T> => {
      if (next !== undefined) return next;
      if (present === undefined) return begin();
      next = present.then(begin, begin);
      return next;
    },
  };
}

export interface ReplicaDeps {
  /** Reads what is new and applies it. Reads do not overlap. */
  readonly read: () => Promise<void>;
  /** Whether another process may have committed since the last read. Synchronous and cheap. */
  readonly isStale: () => boolean;
  /**
   * Receives the StoreError of a read or a check: while no process can reach the database, calls are
   * served from memory. An error that it throws fails the call.
   */
  readonly onFailure: (error: unknown) => void;
}

/** In-memory copy of rows that other processes write too. */
export interface Replica {
  /**
   * Applies all commits until now; synchronous if there are none.
   *
   * @throws UNAVAILABLE when other processes may have committed and this one cannot read it.
   */
  readonly fresh: () => void | Promise<void>;
  /** Reads unconditionally, after a read in progress. @throws as `fresh`. */
  readonly refresh: () => Promise<void>;
}

/** Creates a replica; its first `refresh` loads the copy. */
export function createReplica({ read, isStale, onFailure }: ReplicaDeps): Replica {
  /** Whether the last read has failed or is not applied yet. */
  let isBehind = false;
  const reading = oneAtATime(async () => {
    isBehind = true;
    try {
      await read();
      isBehind = false;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // Saves by other processes are possible while only this process cannot reach the database.
      if (error.failure === "unsure") throw freshFailure(error);
      onFailure(error);
    }
  });
  const isChanged = (): boolean => {
    try {
      return isStale();
    } catch (error) {
      onFailure(error);
      return false;
    }
  };
  return {
    // A read in progress may have begun before the commit that this call needs.
    fresh: () => (isBehind || reading.isRunning() || isChanged() ? reading.run() : undefined),
    refresh: reading.run,
  };
}
