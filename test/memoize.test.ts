import { expect, test } from "vitest";
import { memoize } from "../src/memoize.ts";

/** A memoized function and the arguments of its computations. */
function counted<K, V>(compute: (key: K) => V, options?: { readonly limit: number }) {
  const computed: K[] = [];
  const get = memoize((key: K) => {
    computed.push(key);
    return compute(key);
  }, options);
  return { get, computed };
}

test("a result is computed once for each object, function and value", () => {
  const keys = [{}, {}, () => 0, "a", "b", 0, null, undefined];
  const { get, computed } = counted((key: unknown) => ({ key }));
  const first = keys.map(get);
  expect(keys.map(get).every((result, at) => result === first[at])).toBe(true);
  expect(computed).toEqual(keys);
});

test("undefined is memoized", () => {
  const { get, computed } = counted((_key: unknown) => undefined);
  const key = {};
  for (const each of [key, key, "a", "a"]) expect(get(each)).toBeUndefined();
  expect(computed).toEqual([key, "a"]);
});

test("results of values are kept up to the limit, and those of all objects", () => {
  const { get, computed } = counted((key: unknown) => key, { limit: 1 });
  const objects = [{}, {}];
  for (const key of ["a", "b", "a", "b", ...objects, ...objects]) get(key);
  expect(computed).toEqual(["a", "b", "b", ...objects]);
});

test("a call that throws is not memoized", () => {
  let fails = true;
  const { get } = counted((key: object) => {
    if (fails) throw new Error("not yet");
    return key;
  });
  const key = {};
  expect(() => get(key)).toThrow("not yet");
  fails = false;
  expect(get(key)).toBe(key);
});
