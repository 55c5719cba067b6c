import { expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import { createReplica } from "../../src/database/replica.ts";

/** A replica of one number, which other processes change. */
function replicaOf() {
  const state = { committed: 0, copy: 0, seen: 0, failure: undefined as StoreError | undefined };
  const failures: unknown[] = [];
  const reads: PromiseWithResolvers<void>[] = [];
  const replica = createReplica({
    read: async () => {
      const { committed, failure } = state;
      const hold = Promise.withResolvers<void>();
      reads.push(hold);
      await hold.promise;
      if (failure !== undefined) throw failure;
      state.copy = committed;
      state.seen = committed;
    },
    isStale: () => {
      if (state.failure !== undefined) throw state.failure;
      return state.seen !== state.committed;
    },
    onFailure: (error) => failures.push(error),
  });
  /** Ends the read in progress. */
  const read = async (): Promise<void> => {
    reads.shift()?.resolve();
    await new Promise(setImmediate);
  };
  return { state, failures, reads, replica, read };
}

test("a replica is fresh without waiting while no process has committed", () => {
  const { replica, reads } = replicaOf();
  expect(replica.fresh()).toBe(undefined);
  expect(reads).toHaveLength(0);
});

test("two replicas of one database detect a commit in any order", async () => {
  const one = replicaOf();
  const other = replicaOf();
  for (const { state } of [one, other]) state.committed = 1;
  for (const { replica, read, state } of [other, one]) {
    const fresh = replica.fresh();
    await read();
    await fresh;
    expect(state.copy).toBe(1);
    expect(replica.fresh()).toBe(undefined);
  }
});

test("calls during a read wait for the next read, which they share", async () => {
  const { state, replica, reads, read } = replicaOf();
  state.committed = 1;
  const first = replica.fresh();
  state.committed = 2;
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
  const { state, failures, replica, read } = replicaOf();
  state.committed = 1;
  const fresh = replica.fresh();
  await read();
  await fresh;
  state.failure = new StoreError("away", "the server is gone");
  expect(replica.fresh()).toBe(undefined);
  const refreshed = replica.refresh();
  await read();
  await refreshed;
  expect(failures).toEqual([state.failure, state.failure]);
  expect(state.copy).toBe(1);
  // Not stale, but the last read failed.
  state.failure = undefined;
  const again = replica.fresh();
  expect(again).toBeInstanceOf(Promise);
  await read();
  await again;
  expect(replica.fresh()).toBe(undefined);
});

test("when other processes may have committed unreadable changes, calls fail until a read succeeds", async () => {
  const { state, failures, replica, read } = replicaOf();
  state.failure = new StoreError("unsure", "the server is gone");
  const failed = replica.refresh().catch((error: Error) => error);
  await read();
  expect(await failed).toMatchObject({ cause: state.failure });
  const call = Promise.resolve(replica.fresh()).catch((error: Error) => error);
  await read();
  expect(await call).toMatchObject({ cause: state.failure });
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
