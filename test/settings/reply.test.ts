import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createReplyCache, ReplyBudget } from "../../src/settings/reply.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";

test("cached replies are limited in bytes and entries, for any keys of requests", () => {
  const budget = new ReplyBudget({ bytes: 10_000, entries: 50 });
  const cache = createReplyCache<object, { readonly at: number }>(budget, () => 1_000);
  const owner = {};
  for (let at = 0; at < 5_000; at += 1) {
    cache(owner, `groups=${at}`, () => ({ at }));
    expect(budget.bytes).toBeLessThanOrEqual(10_000);
  }
  expect(budget.size).toBeLessThanOrEqual(10);
  const small = createReplyCache<object, { readonly at: number }>(budget, () => 1);
  for (let at = 0; at < 5_000; at += 1) small(owner, `${at}`, () => ({ at }));
  expect(budget.size).toBe(50);
});

test("a cached reply is the same message until it is dropped, and a large one is not cached", () => {
  const budget = new ReplyBudget({ bytes: 100, entries: 10 });
  const cache = createReplyCache<object, { readonly size: number }>(budget, ({ size }) => size);
  const owner = {};
  const first = cache(owner, "a", () => ({ size: 10 }));
  expect(cache(owner, "a", () => ({ size: 10 }))).toBe(first);
  const large = cache(owner, "b", () => ({ size: 1_000 }));
  expect(cache(owner, "b", () => ({ size: 1_000 }))).not.toBe(large);
  expect(cache(owner, "a", () => ({ size: 10 }))).toBe(first);
  budget.clear();
  expect(cache(owner, "a", () => ({ size: 10 }))).not.toBe(first);
});

test("whole replies that wait for their readers count, shared ones once, and the oldest is dropped", () => {
  const slow = new SlowReaders({ together: 250_000, patienceMs: 60_000 });
  const held = (reply: Buffer): PassThrough => {
    const stream = new PassThrough();
    slow.hold(stream, reply);
    return stream;
  };
  const shared = Buffer.alloc(100_000);
  const readers = [held(shared), held(shared), held(shared)];
  expect(slow.bytes).toBe(100_000);
  const own = held(Buffer.alloc(100_000));
  expect(slow.bytes).toBe(200_000);
  own.destroy();
  own.emit("close");
  expect(slow.bytes).toBe(100_000);
  const last = [held(Buffer.alloc(100_000)), held(Buffer.alloc(100_000))];
  expect(slow.bytes).toBeLessThanOrEqual(250_000);
  expect(readers.every(({ destroyed }) => destroyed)).toBe(true);
  expect(last.every(({ destroyed }) => destroyed)).toBe(false);
  expect(slow.dropped).toBe(3);
});
