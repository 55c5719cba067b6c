import { expect, test } from "vitest";
import { createMountRegistry } from "../../../src/mounts/site/registry.ts";
import { NEW_MOUNT } from "../../../src/mounts/site/state.ts";
import { memoryStore } from "./desk.ts";

const SITES = Array.from({ length: 100 }, (_, at) => `site-${at}`);
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("states of a hundred sites, one after the other, are a few transactions", async () => {
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
    written.push(registry.put(site, { mounts: { films: { ...NEW_MOUNT, id: 7 } } }));
    await turn();
  }
  await Promise.all(written);
  expect(transactions).toBeLessThan(SITES.length / 3);
  expect((await store.list()).length).toBe(SITES.length);
  expect(registry.mounts("site-99").get("films")?.id).toBe(7);
});
