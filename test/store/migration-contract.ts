import type { Kysely } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Migrations, migrate } from "../../src/database/migrate.ts";
import type { Database } from "../../src/database/schema.ts";
import type { Store } from "../../src/store/stores.ts";
import { storedSite } from "./site-contract.ts";

/** An empty database. */
interface EmptyPlace {
  /** Runs statements on it, outside of every store. The connection is closed afterwards. */
  use(work: (db: Kysely<Database>) => Promise<void>): Promise<void>;
  open(): Promise<Store>;
  remove(): Promise<void>;
}

async function leave(db: Kysely<Database>, steps: Migrations): Promise<void> {
  await migrate(db, "here", steps);
  await db
    .insertInto("record")
    .values({
      kind: "thing",
      key: "kept",
      body: "of before",
      attributes: "{}",
      secrets: null,
      position: 1,
      revision: 1,
    })
    .execute();
}

/** Contract for a database of an older or a newer program. */
export function describeMigrations(
  name: string,
  steps: Migrations,
  newPlace: () => Promise<EmptyPlace>,
): void {
  describe(name, () => describeSteps(steps, newPlace));
}

function describeSteps(steps: Migrations, newPlace: () => Promise<EmptyPlace>): void {
  const names = Object.keys(steps);
  const empty = async () => {
    const place = await newPlace();
    onTestFinished(() => place.remove());
    return place;
  };
  const left = async (count: number) => {
    const place = await empty();
    await place.use((db) => leave(db, Object.fromEntries(Object.entries(steps).slice(0, count))));
    return place;
  };

  test("steps are numbered in their order, each number once", () => {
    expect(names).toEqual([...names].sort());
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, at) => at + 1));
  });

  test.each(names.map((name, at) => [name, at + 1] as const))(
    "with the steps up to %s it opens, keeps its data, and accepts sites",
    async (_, count) => {
      const place = await left(count);
      const store = await place.open();
      const { records } = await store.load();
      expect(records.map(({ key, body }) => [key, body])).toEqual([["kept", "of before"]]);
      expect(await store.sites.insert(storedSite("a"), [])).toBe(true);
      const state = { siteId: "a", version: 0, appliedRevision: 1, state: "{}" };
      expect(await store.sites.record([{ state, events: [], audit: [] }])).toEqual([1]);
      await store.close();
      const again = await place.open();
      expect(await again.sites.list()).toEqual([storedSite("a")]);
      await again.close();
    },
  );

  test("of a newer program it is refused, and unchanged", async () => {
    const place = await empty();
    await place.use((db) => leave(db, { ...steps, "9999_to_come": { up: async () => undefined } }));
    await expect(place.open()).rejects.toThrow("was written by a newer Mooring than this one");
  });
}
