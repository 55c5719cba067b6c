// Changes of other processes between two queries of one read.

import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createVerifier } from "../../src/audit/chain.ts";
import type { AuditStore } from "../../src/audit/store.ts";
import { entry } from "../store/audit-contract.ts";
import { opened } from "./opened.ts";

const TEN = Array.from({ length: 10 }, () => ({}));

/** Deletes rows before the first read of rows. */
const deleting = (store: AuditStore): Partial<AuditStore> => {
  let isDone = false;
  return {
    rows: async (range) => {
      if (!isDone) await store.forget({ count: 5, notBefore: 0 }, 100, 0);
      isDone = true;
      return store.rows(range);
    },
  };
};

test("a page from the oldest row on has no gap when rows are deleted during the read", async () => {
  const { service, store } = await opened(TEN, { wrap: deleting });
  const { rows, oldest, floorHash } = await service.list({
    pageSize: 0,
    after: 0,
    from: undefined,
  });
  const verifier = createVerifier({ seq: oldest - 1, hash: floorHash });
  const problems = [...rows.map((row) => verifier.add(row)), verifier.end()];
  expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  expect(oldest).toBe((await store.floor()).seq + 1);
});

test.each([
  { after: 1, from: undefined },
  { after: 0, from: 1 },
])("a page whose first rows are deleted during the read is refused: %o", async (place) => {
  const { service } = await opened(TEN, { wrap: deleting });
  const page = service.list({ pageSize: 0, ...place });
  await expect(page).rejects.toMatchObject({ code: Code.OutOfRange });
});

test("a slow read of the newest row does not end a watcher that has later rows", async () => {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let reads = 0;
  const wrap = (store: AuditStore) => ({
    head: async () => {
      reads += 1;
      const isSlow = reads === 2;
      const head = await store.head();
      if (isSlow) {
        reached.resolve();
        await released.promise;
      }
      return head;
    },
  });
  const { store, watch } = await opened(TEN, { wrap });
  const first = watch({ seq: 10 });
  await first.next();
  const next = first.next();
  await reached.promise;
  await store.append([entry()]);
  const other = watch({ seq: 10 });
  const begun = other.next();
  // The other watcher reads the newer head, and waits for the rows, before the slow read ends.
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  released.resolve();
  await begun;
  expect(await next).toMatchObject({ value: { seq: 11 } });
  await store.append([entry()]);
  expect(await first.next()).toMatchObject({ value: { seq: 12 } });
});
