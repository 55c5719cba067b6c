import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { startCompaction } from "../../src/ledger/compaction.ts";
import { createDraft } from "../../src/ledger/draft.ts";
import { createHistory, type HistoryStore } from "../../src/ledger/history.ts";
import { changesAfter } from "../../src/ledger/later.ts";
import type { RevisionSummary } from "../../src/ledger/store.ts";
import { baseOf, customItem, sampleMount, snapshotOf } from "../settings/staged.ts";
import { changed, commit } from "../store/sample.ts";
import { failureOf } from "../thrown.ts";

/** A history at revision 1,000 on a store whose replies the test defines. */
function historyOf(store: Partial<HistoryStore>) {
  const ledger = { snapshot: () => ({ revision: 1_000 }) } as never;
  return createHistory({ store: { oldestRevision: async () => 1, ...store } as never, ledger });
}

/** Revisions in memory with the given summary, and the sizes of their queries. */
function listing(summary: Partial<RevisionSummary>) {
  const limits: number[] = [];
  const store: Partial<HistoryStore> = {
    listRevisions: async ({ before = 1_001, limit }) => {
      limits.push(limit);
      const count = Math.min(limit, before - 1);
      return Array.from({ length: count }, (_, at) => ({
        ...commit({ revision: before - 1 - at }),
        ...summary,
      }));
    },
  };
  return { limits, history: historyOf(store) };
}

const SIZE = 2 ** 16;
const text = (length: number) => "x".repeat(length);
const change = (members: { key?: string; oldAttributes?: string; newAttributes?: string }) => ({
  changes: [{ kind: "thing", key: "", oldAttributes: null, newAttributes: null, ...members }],
});

describe("a page", () => {
  test.each<[string, Partial<RevisionSummary>]>([
    ["the reason", { reason: text(SIZE - 512) }],
    ["the key", change({ key: text(SIZE - 512 - 64) })],
    ["the old definition", change({ oldAttributes: text(SIZE - 512 - 64) })],
    ["the new definition", change({ newAttributes: text(SIZE - 512 - 64) })],
  ])(
    "ends at 2 MiB, counted with %s, and is read in two queries of that size",
    async (_, summary) => {
      const { limits, history } = listing(summary);
      const { revisions, next } = await history.list({ pageSize: 1_000 });
      expect([revisions.length, next]).toEqual([32, 969]);
      expect(limits).toEqual([9, 25]);
    },
  );

  test("ends with the revision that fills it", async () => {
    const { limits, history } = listing({ reason: text(2 ** 18 - 512) });
    expect((await history.list({ pageSize: 1_000 })).revisions).toHaveLength(8);
    expect(limits).toEqual([9]);
  });

  test("reads one revision at a time when the next one may fill it", async () => {
    const { limits, history } = listing({ reason: text(250_000) });
    expect((await history.list({ pageSize: 1_000 })).revisions).toHaveLength(9);
    expect(limits).toEqual([9, 2]);
  });
});

describe("a difference", () => {
  const diff = (
    [from, to]: readonly [number, number],
    oldest: () => number,
    changesBetween = vi.fn(async () => [changed({ key: "a", newBody: "1" })]),
  ) => {
    const history = historyOf({ changesBetween, oldestRevision: async () => oldest() });
    return { changesBetween, found: history.diff(from, to) };
  };

  test.each<[number, number, Code]>([
    [-1, 5, Code.NotFound],
    [5, 1_001, Code.NotFound],
    [1, 5, Code.OutOfRange],
    [5, 1, Code.OutOfRange],
  ])("from %d to %d is refused before the history is read", async (from, to, code) => {
    const { found, changesBetween } = diff([from, to], () => 3);
    expect((await failureOf(() => found)).code).toBe(code);
    expect(changesBetween).not.toHaveBeenCalled();
  });

  test("whose first revisions are deleted during the read is refused", async () => {
    let oldest = 3;
    const changesBetween = vi.fn(async () => {
      oldest = 4;
      return [];
    });
    const { found } = diff([2, 5], () => oldest, changesBetween);
    expect((await failureOf(() => found)).code).toBe(Code.OutOfRange);
    expect(await diff([2, 5], () => 3).found).toHaveLength(1);
  });
});

test("compaction that is stopped ends after the step in progress", async () => {
  const step = Promise.withResolvers<number>();
  const forget = vi.fn(() => step.promise);
  const job = startCompaction({
    task: "t",
    tryAcquireJobSlot: async () => true,
    forget,
    maxCount: 1,
    maxAge: 1,
    interval: 60_000,
    now: () => 0,
    onError: (error) => expect.unreachable(String(error)),
  });
  const run = job.run();
  await expect.poll(() => forget).toHaveBeenCalled();
  const stopped = job.stop();
  step.resolve(200);
  await Promise.all([run, stopped]);
  expect(forget).toHaveBeenCalledOnce();
});

test("changes since a revision are the records of all kinds that were set, replaced and deleted", () => {
  const at = (name: string, revision: number, path = `/${name}`) =>
    sampleMount(name, { path, revision });
  const base = snapshotOf(2, [customItem("a", "1")], [at("a", 1), at("b", 1), at("c", 1)]);
  const now = snapshotOf(3, [customItem("a", "1")], [at("b", 3, "/b2"), at("c", 1), at("d", 3)]);
  const changes = changesAfter(base, createDraft(baseOf(now)), { of: String }).map(
    ({ kind, key, oldBody, newBody }) => [kind, key, oldBody !== null, newBody !== null],
  );
  expect(changes.sort()).toEqual([
    ["mount", "a", true, false],
    ["mount", "b", true, true],
    ["mount", "d", false, true],
  ]);
});
