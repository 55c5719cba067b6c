import { getEventListeners } from "node:events";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createFeed, type Feed } from "../../src/ledger/feed.ts";
import type { RevisionCommit } from "../../src/ledger/store.ts";
import { changed, commit } from "../store/sample.ts";
import { failureOf } from "../thrown.ts";
import { ticksDuring } from "../ticks-during.ts";

afterEach(() => vi.useRealTimers());

const MiB = 1024 * 1024;

/** A history in memory, and a feed of it. */
function feedOn(length: number, { idle = 60_000, maxLag = 4 * MiB } = {}) {
  const history: RevisionCommit[] = [];
  const make = (count: number, bytes = 10): RevisionCommit[] => {
    const first = history.length + 1;
    const made = Array.from({ length: count }, (_, at) =>
      commit({
        revision: first + at,
        changes: [changed({ key: "k", newBody: "v".repeat(bytes) })],
      }),
    );
    history.push(...made);
    return made;
  };
  make(length);
  let kept = 1;
  const store = {
    reads: 0,
    oldestRevision: async () => kept,
    commits: async (after: number, upTo: number, limit: number) => {
      store.reads += 1;
      const range = history.filter(({ revision }) => revision > after && revision <= upTo);
      return range.filter(({ revision }) => revision >= kept).slice(0, limit);
    },
  };
  const feed = createFeed({ store, revision: length, idle, maxLag });
  const forget = (oldest: number): void => {
    kept = oldest;
  };
  return {
    feed,
    store,
    make,
    forget,
    append: (count: number, bytes?: number) => feed.append(make(count, bytes)),
  };
}

/** Reads a feed batch by batch. */
function reader(feed: Feed, after: number, signal = new AbortController().signal) {
  const batches = feed.read(after, signal)[Symbol.asyncIterator]();
  const seen: number[] = [];
  const next = async (): Promise<readonly RevisionCommit[] | undefined> => {
    const { value, done } = await batches.next();
    if (done) return undefined;
    seen.push(...(value as readonly RevisionCommit[]).map(({ revision }) => revision));
    return value;
  };
  /** Reads until it has the revision. */
  const until = async (revision: number): Promise<number[]> => {
    while ((seen.at(-1) ?? after) < revision) await next();
    return seen;
  };
  return { next, until, seen };
}

/**
 * Counts timers of this delay that are neither fired nor cleared; others of the process have other
 * delays.
 */
function pendingTimers(delay: number): () => number {
  const started = vi.spyOn(globalThis, "setTimeout");
  const cleared = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => {
    started.mockRestore();
    cleared.mockRestore();
  });
  return () => {
    const over = new Set<unknown>(cleared.mock.calls.map(([timer]) => timer));
    return started.mock.results.filter(
      ({ value }, at) => started.mock.calls[at]?.[1] === delay && !over.has(value),
    ).length;
  };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe("a reader", () => {
  test("at the head receives new commits", async () => {
    const { feed, append } = feedOn(3);
    const { next, seen } = reader(feed, 3);
    const first = next();
    append(2);
    await first;
    const second = next();
    append(1);
    await second;
    expect(seen).toEqual([4, 5, 6]);
  });

  test("that begins earlier reads the history, then continues from memory", async () => {
    const { feed, append, store } = feedOn(250);
    append(3);
    const { until } = reader(feed, 10);
    expect(await until(253)).toEqual(range(11, 253));
    expect(store.reads).toBe(3);
    const other = reader(feed, 250);
    expect(await other.until(253)).toEqual([251, 252, 253]);
    expect(store.reads).toBe(3);
  });

  test("gets the same object of a commit as every other reader", async () => {
    const { feed, append } = feedOn(0);
    append(1);
    const [a] = (await reader(feed, 0).next()) ?? [];
    const [b] = (await reader(feed, 0).next()) ?? [];
    expect(a).toBe(b);
  });

  test("misses no commit that arrives while it is busy", async () => {
    const { feed, append } = feedOn(5);
    const { next, until } = reader(feed, 2);
    await next();
    append(10);
    append(10);
    expect(await until(25)).toEqual(range(3, 25));
  });

  test("skips commits that it has already", async () => {
    const { feed, append, make } = feedOn(0);
    const { next, seen } = reader(feed, 0);
    append(2);
    await next();
    feed.append(await Promise.all(range(1, 2).map((revision) => commit({ revision }))));
    const waiting = next();
    feed.append(make(1));
    await waiting;
    expect(seen).toEqual([1, 2, 3]);
  });

  test("reads skipped commits and gaps from the history", async () => {
    const { feed, make } = feedOn(2);
    const { until } = reader(feed, 2);
    make(5);
    feed.skipTo(7);
    expect(await until(7)).toEqual(range(3, 7));
    const [, , third] = make(3);
    feed.append(third === undefined ? [] : [third]);
    expect(await until(10)).toEqual(range(3, 10));
    expect(feed.head).toBe(10);
  });

  test("gets a bookmark after each idle period", async () => {
    const { feed, append } = feedOn(1, { idle: 1 });
    const { next } = reader(feed, 1);
    expect(await next()).toEqual([]);
    expect(await next()).toEqual([]);
    append(1);
    expect(await next()).toHaveLength(1);
    expect(await next()).toEqual([]);
  });

  test("of a deleted revision is refused with the oldest one", async () => {
    const { feed, forget } = feedOn(20);
    forget(8);
    const { code, message } = await failureOf(reader(feed, 3).next);
    expect(code).toBe(Code.OutOfRange);
    expect(message).toMatch(/after revision 3 have been deleted; the oldest revision is 8/);
    expect(await reader(feed, 7).until(20)).toEqual(range(8, 20));
    expect((await failureOf(reader(feed, -5).next)).code).toBe(Code.OutOfRange);
  });

  test("of a revision that does not exist yet is refused with the newest one", async () => {
    const { feed } = feedOn(2);
    const { code, message } = await failureOf(reader(feed, 3).next);
    expect(code).toBe(Code.OutOfRange);
    expect(message).toMatch(/revision 3 does not exist yet; the newest is 2/);
  });

  test("ends when the database was replaced, also during a read", async () => {
    const { feed, store } = feedOn(5);
    const atHead = reader(feed, 5);
    const waiting = failureOf(atHead.next);
    const lagging = reader(feed, 0);
    const { commits } = store;
    store.commits = async (...args) => {
      feed.reset(4);
      return commits(...args);
    };
    const reading = failureOf(lagging.next);
    for (const failure of await Promise.all([waiting, reading])) {
      expect(failure.code).toBe(Code.Unavailable);
      expect(failure.message).toMatch(/database was replaced/);
    }
    store.commits = commits;
    expect(await reader(feed, 2).until(4)).toEqual([3, 4]);
  });

  test("ends when the service stops", async () => {
    const { feed } = feedOn(1);
    const waiting = failureOf(reader(feed, 1).next);
    feed.close();
    expect((await waiting).code).toBe(Code.Unavailable);
    expect((await failureOf(reader(feed, 1).next)).code).toBe(Code.Unavailable);
  });
});

describe("a slow reader", () => {
  test("is dropped at its bound", async () => {
    const { feed, append } = feedOn(1, { maxLag: 64 * 1024 });
    const { next } = reader(feed, 1);
    append(1);
    await next();
    append(3, 40 * 1024);
    const { message } = await failureOf(() => next());
    expect(message).toMatch(/64 KiB behind: resume after revision 2$/);
  });

  test("is dropped at more than 4 MiB behind, with the revision to resume at", async () => {
    const { feed, append } = feedOn(0);
    const slow = reader(feed, 0);
    const quick = reader(feed, 0);
    append(1);
    await slow.next();
    for (let at = 0; at < 12; at += 1) {
      append(1, MiB / 2);
      await quick.until(at + 2);
    }
    const { code, message } = await failureOf(slow.next);
    expect(code).toBe(Code.ResourceExhausted);
    expect(message).toMatch(/4096 KiB behind: resume after revision 1$/);
    append(1);
    expect(await quick.until(14)).toEqual(range(1, 14));
    expect(await reader(feed, 1).until(14)).toEqual(range(2, 14));
  });

  test("is not dropped below that", async () => {
    const { feed, append } = feedOn(0);
    const slow = reader(feed, 0);
    append(1);
    await slow.next();
    for (let at = 0; at < 7; at += 1) append(1, MiB / 2);
    expect(await slow.until(8)).toEqual(range(1, 8));
  });

  test("does not include a waiting reader when a large change, or many at once, arrive", async () => {
    const { feed, append } = feedOn(0);
    const readers = Array.from({ length: 3 }, () => reader(feed, 0));
    let last = 0;
    for (const [count, bytes] of [
      [1, 5 * MiB],
      [1, 20 * MiB],
      [256, MiB / 16],
    ] as const) {
      const waiting = readers.map(({ until }) => until(last + count));
      append(count, bytes);
      last += count;
      await Promise.all(waiting);
    }
    for (const { seen } of readers) expect(seen).toEqual(range(1, 258));
  });

  test("does not include a reader that is one change behind, of any size", async () => {
    const { feed, append } = feedOn(0);
    const busy = reader(feed, 0);
    append(1);
    await busy.next();
    append(1, 20 * MiB);
    expect(await busy.until(2)).toEqual([1, 2]);
  });

  test("causes no more than a few MiB in memory: older commits are read from the history", async () => {
    const { feed, append, store } = feedOn(0);
    const other = reader(feed, 0);
    for (let at = 0; at < 40; at += 1) {
      const waiting = other.next();
      append(1, MiB / 2);
      await waiting;
    }
    const { until } = reader(feed, 35);
    await until(40);
    expect(store.reads).toBe(0);
    await reader(feed, 10).until(11);
    expect(store.reads).toBe(1);
  });

  test("is the only reason to keep commits in memory: without readers only the newest is kept", async () => {
    const { feed, append, store } = feedOn(0);
    append(100, MiB / 16);
    expect(await reader(feed, 99).until(100)).toEqual([100]);
    expect(store.reads).toBe(0);
    expect(await reader(feed, 50).until(100)).toEqual(range(51, 100));
    expect(store.reads).toBeGreaterThan(0);
  });
});

test("a commit reaches very many readers in batches, with other work in between", async () => {
  const { feed, append } = feedOn(1);
  const readers = Array.from({ length: 2_000 }, () => reader(feed, 1));
  const first = readers.map(({ next }) => next());
  const { ticks } = await ticksDuring(() => {
    append(1);
    return Promise.all(first);
  });
  for (const { seen } of readers) expect(seen).toEqual([2]);
  expect(ticks).toBeGreaterThanOrEqual(6);
});

describe("a reader that ends", () => {
  test("leaves no timer and no listener", async () => {
    const IDLE = 61_000;
    const pending = pendingTimers(IDLE);
    const { feed, append } = feedOn(1, { idle: IDLE });
    const stop = new AbortController();
    const waiting = Array.from({ length: 1_000 }, () => reader(feed, 1, stop.signal));
    const batches = waiting.map(({ next }) => next());
    append(1);
    await Promise.all(batches);
    const again = waiting.map(({ next }) => next());
    await expect.poll(pending).toBe(1_000);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(1_000);
    stop.abort();
    expect(await Promise.all(again)).toEqual(again.map(() => undefined));
    expect(pending()).toBe(0);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  test("before its start reads nothing", async () => {
    const { feed, store } = feedOn(5);
    expect(await reader(feed, 0, AbortSignal.abort()).next()).toBeUndefined();
    expect(store.reads).toBe(0);
  });
});
