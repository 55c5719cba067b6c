import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMountRegistry } from "../../../src/mounts/site/registry.ts";
import { NEW_MOUNT, NEW_SITE_MOUNTS } from "../../../src/mounts/site/state.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { newDatabaseFolder } from "../../store/folder.ts";
import { storedSite } from "../../store/site-contract.ts";

let folder: string;

test("a second process reads the states of those sites again that the first one has written", async () => {
  const file = join(folder, "shared.db");
  const [first, second] = [await openSqliteStore(file), await openSqliteStore(file)];
  for (const id of ["a", "b", "c"]) await first.sites.insert(storedSite(id), []);
  const writer = createMountRegistry(first.mountStates);
  const read: string[] = [];
  const reader = createMountRegistry({
    ...second.mountStates,
    ofSite: (siteId) => {
      read.push(siteId);
      return second.mountStates.ofSite(siteId);
    },
  });
  const reads = async () => {
    read.length = 0;
    await reader.load();
    return read.toSorted();
  };
  const state = { ...NEW_MOUNT, id: 4, path: "/films" };
  for (const site of ["a", "b"])
    await writer.put(site, { records: { films: state, other: state } });
  expect(await reads()).toEqual(["a", "b", "c"]);
  expect(await reads()).toEqual([]);
  await writer.put("b", { records: { films: { ...state, id: 5 }, other: undefined } });
  expect(await reads()).toEqual(["b"]);
  expect([...reader.records("b")].map(([name, { id }]) => [name, id])).toEqual([["films", 5]]);
  expect(reader.records("a").size).toBe(2);
  await reader.put("a", { records: { films: { ...state, id: 6 } } });
  expect(await reads()).toEqual(["a"]);
  expect(reader.records("a").get("films")?.id).toBe(6);
  await writer.request("c", { forced: ["films"], states: {} });
  expect(await reader.requested()).toEqual(new Set(["c"]));
  await first.sites.delete("a", []);
  expect(await reads()).toEqual(["c"]);
  expect(reader.records("a").size).toBe(0);
  await Promise.all([first.close(), second.close()]);
});

beforeAll(async () => {
  folder = newDatabaseFolder();
});

afterAll(() => rm(folder, { recursive: true }));

test("states are stored, an equal one is not written, and a deleted site's states are deleted", async () => {
  const file = join(folder, "a.db");
  const first = await openSqliteStore(file);
  for (const id of ["a", "b"]) await first.sites.insert(storedSite(id), []);
  let writes = 0;
  const registry = createMountRegistry({
    ...first.mountStates,
    write: (changes) => {
      writes += 1;
      return first.mountStates.write(changes);
    },
  });
  await registry.load();
  const state = {
    ...NEW_MOUNT,
    id: 4,
    path: "/films",
    rewritten: { url: { sent: "a", got: "b" } },
  };
  await registry.put("a", {
    site: { ...NEW_SITE_MOUNTS, contacted: true },
    records: { films: state },
  });
  await registry.put("a", { records: { films: { ...state } } });
  await registry.put("b", { records: { films: state, other: state } });
  await registry.put("b", { records: { other: undefined } });
  expect(writes).toBe(3);
  await first.close();
  const second = await openSqliteStore(file);
  const again = createMountRegistry(second.mountStates);
  await again.load();
  expect(again.records("a").get("films")).toEqual(state);
  expect([...again.records("b").keys()]).toEqual(["films"]);
  expect(again.site("a").contacted).toBe(true);
  expect(again.site("b").contacted).toBe(false);
  // Changes that were collected for one transaction: the last one of each row holds.
  await second.mountStates.write([
    { siteId: "b", name: "films", state: JSON.stringify({ ...state, id: 5 }) },
    { siteId: "b", name: "gone", state: JSON.stringify(state) },
    { siteId: "b", name: "films", state: JSON.stringify(state) },
    { siteId: "b", name: "gone" },
  ]);
  await again.load();
  expect([...again.records("b").keys()]).toEqual(["films"]);
  expect(again.records("b").get("films")?.id).toBe(4);
  await second.sites.delete("a", []);
  // A round that ends afterwards.
  await again.put("a", { records: { late: state } });
  await again.load();
  expect(again.records("a").size).toBe(0);
  expect(again.records("b").size).toBe(1);
  await second.close();
});

test("a request of another process waits for the writer of states", async () => {
  const store = await openSqliteStore(join(folder, "b.db"));
  for (const id of ["a", "b"]) await store.sites.insert(storedSite(id), []);
  const [leader, other] = [
    createMountRegistry(store.mountStates),
    createMountRegistry(store.mountStates),
  ];
  await other.request("a", { forced: ["one"], states: {} });
  await other.request("a", { forced: ["two"], states: { one: { ...NEW_MOUNT, applied: 3 } } });
  await other.request("b", { forced: ["three"], states: {} });
  expect(await leader.requested()).toEqual(new Set(["a", "b"]));
  await leader.carryOut("a");
  expect(leader.site("a")).toMatchObject({ contacted: true, forced: ["one", "two"] });
  expect(leader.records("a").get("one")?.applied).toBe(3);
  expect(await leader.requested()).toEqual(new Set(["b"]));
  await leader.load();
  expect([...leader.records("a").keys()]).toEqual(["one"]);
  await store.close();
});
