import { expect, test } from "vitest";
import { createKeep } from "../../src/rpc/kept.ts";

test("what was made of an object is made once", () => {
  const keep = createKeep<object, number>();
  const [one, other] = [{}, {}];
  let made = 0;
  const make = (): number => ++made;
  expect([keep(one, make), keep(one, make), keep(other, make)]).toEqual([1, 1, 2]);
});

test("a promise is shared while it is open, and then what it gave", async () => {
  const keep = createKeep<object, number>();
  const key = {};
  const { promise, resolve } = Promise.withResolvers<number>();
  const first = keep(key, () => promise);
  expect(keep(key, () => 2)).toBe(first);
  resolve(1);
  await first;
  expect(keep(key, () => 2)).toBe(1);
});

test("a promise that fails is given up", async () => {
  const keep = createKeep<object, number>();
  const key = {};
  await expect(keep(key, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(keep(key, () => 2)).toBe(2);
});
