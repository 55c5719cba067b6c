import { expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import { createReplica } from "../../src/database/replica.ts";

/** A database with one number, which other processes change. */
interface NumberDatabase {
  committed: number;
  /** Error of each request; undefined: the database answers. */
  failure: StoreError | undefined;
}

const newDatabase = (): NumberDatabase => ({ committed: 0, failure: undefined });

/** A replica of the number. `read` ends the read in progress. */
function createTestReplica(database = newDatabase()) {
  const state = { copy: 0, seen: 0 };
  const failures: unknown[] = [];
  const reads: PromiseWithResolvers<void>[] = [];
  const replica = createReplica({
    read: async () => {
      const { committed, failure } = database;
      const hold = Promise.withResolvers<void>();
      reads.push(hold);
      await hold.promise;
      if (failure !== undefined) throw failure;
      state.copy = committed;
      state.seen = committed;
    },
    isStale: () => {
      if (database.failure !== undefined) throw database.failure;
      return state.seen !== database.committed;
    },
    onFailure: (error) => failures.push(error),
  });
  const read = async (): Promise<void> => {
    reads.shift()?.resolve();
    await new Promise(setImmediate);
  };
  return { database, state, failures, reads, replica, read };
}

test("a replica is fresh without waiting while no process has committed", () => {
  const { replica, reads } = createTestReplica();
  expect(replica.fresh()).toBe(undefined);
  expect(reads).toHaveLength(0);
});

test("each of two replicas of one database detects a commit, also after the other has read it", async () => {
  const database = newDatabase();
  const one = createTestReplica(database);
  const other = createTestReplica(database);
  database.committed = 1;
  for (const { replica, read, state } of [other, one]) {
    const fresh = replica.fresh();
    await read();
    await fresh;
    expect(state.copy).toBe(1);
    expect(replica.fresh()).toBe(undefined);
  }
});

test("calls during a read wait for the next read, which they share", async () => {
  const { database, state, replica, reads, read } = createTestReplica();
  database.committed = 1;
  const first = replica.fresh();
  database.committed = 2;
  const calls = [replica.fresh(), replica.fresh()];
  expect(calls[0]).toBe(calls[1]);
  await read();
  await first;
  expect(state.copy).toBe(1);
  expect(reads).toHaveLength(1);
  await read();
  await Promise.all(calls);
  expect(state.copy).toBe(2);
});

test("while the database is unreachable the copy serves, and it is read again afterwards", async () => {
  const { database, state, failures, replica, read } = createTestReplica();
  database.committed = 1;
  const fresh = replica.fresh();
  await read();
  await fresh;
  const failure = new StoreError("away", "the server is gone");
  database.failure = failure;
  expect(replica.fresh()).toBe(undefined);
  const refreshed = replica.refresh();
  await read();
  await refreshed;
  expect(failures).toEqual([failure, failure]);
  expect(state.copy).toBe(1);
  // Not stale, but the last read failed.
  database.failure = undefined;
  const again = replica.fresh();
  expect(again).toBeInstanceOf(Promise);
  await read();
  await again;
  expect(replica.fresh()).toBe(undefined);
});

test("when other processes may have committed unreadable changes, calls fail until a read succeeds", async () => {
  const { database, failures, replica, read } = createTestReplica();
  database.failure = new StoreError("unsure", "the server is gone");
  const failed = replica.refresh().catch((error: Error) => error);
  await read();
  expect(await failed).toMatchObject({ cause: database.failure });
  const call = Promise.resolve(replica.fresh()).catch((error: Error) => error);
  await read();
  expect(await call).toMatchObject({ cause: database.failure });
  expect(failures).toEqual([]);
});

test("a fault of the program during a read fails the call, and is no failure of the database", async () => {
  const failures: unknown[] = [];
  const replica = createReplica({
    read: () => Promise.reject(new TypeError("a row has no columns")),
    isStale: () => true,
    onFailure: (error) => failures.push(error),
  });
  await expect(replica.fresh()).rejects.toThrow("a row has no columns");
  expect(failures).toEqual([]);
});
