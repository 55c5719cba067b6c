import { expect, test } from "vitest";
import { createMountRegistry } from "../../../src/mounts/site/registry.ts";
import { NEW_MOUNT } from "../../../src/mounts/site/state.ts";
import { memoryStore } from "./desk.ts";

const SITES = Array.from({ length: 100 }, (_, at) => `site-${at}`);
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("states of a hundred sites in a row are a few transactions", async () => {
  const store = memoryStore();
  let transactions = 0;
  const registry = createMountRegistry({
    ...store,
    write: (changes) => {
      transactions += 1;
      return store.write(changes);
    },
  });
  const written: Promise<void>[] = [];
  for (const site of SITES) {
    written.push(registry.put(site, { records: { films: { ...NEW_MOUNT, id: 7 } } }));
    await turn();
  }
  await Promise.all(written);
  expect(transactions).toBeLessThan(SITES.length / 3);
  expect((await store.list()).length).toBe(SITES.length);
  expect(registry.records("site-99").get("films")?.id).toBe(7);
});

test("states of many mounts of many sites are written at most 500 at a time", async () => {
  const store = memoryStore();
  const sizes: number[] = [];
  const registry = createMountRegistry({
    ...store,
    write: (changes) => {
      sizes.push(changes.length);
      return store.write(changes);
    },
  });
  const names = Array.from({ length: 1_200 }, (_, at) => `m${at}`);
  const records = Object.fromEntries(names.map((name) => [name, { ...NEW_MOUNT, id: 7 }]));
  await Promise.all(SITES.slice(0, 10).map((site) => registry.put(site, { records })));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
  expect((await store.list()).length).toBe(10 * names.length);
});

test("waiting requests are limited in number, and none is lost", async () => {
  const store = memoryStore();
  const registry = createMountRegistry(store);
  const names = Array.from({ length: 100 }, (_, at) => `m${at}`);
  const ask = (name: string) =>
    registry.request("a", { forced: [name], states: { [name]: { ...NEW_MOUNT, applied: 5 } } });
  const rename = (at: number) =>
    registry.request("b", { forced: [], states: {}, forget: [`old-${at}`] });
  await Promise.all([...names.map(ask), ...names.map((_, at) => rename(at))]);
  expect((await store.list("requests")).length).toBeLessThanOrEqual(2 * 33);
  await registry.carryOut("a");
  expect(registry.site("a").forced).toEqual(names);
  expect([...registry.records("a").keys()]).toEqual(names);
  expect(registry.site("a").contacted).toBe(true);
  await registry.carryOut("b");
  expect(registry.site("b").contacted).toBe(false);
  await registry.request("c", { forced: [], states: {} });
  for (let at = 0; at < 40; at += 1)
    await registry.request("c", { forced: [], states: {}, forget: [`old-${at}`] });
  await registry.carryOut("c");
  expect(registry.site("c").contacted).toBe(true);
  expect(await store.list("requests")).toEqual([]);
});
