import type { Kysely, Selectable } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Migrations, migrate } from "../../src/database/migrate.ts";
import type { Database } from "../../src/database/schema.ts";
import type { Store } from "../../src/store/stores.ts";
import { allRows, entry, problemOf } from "./audit-contract.ts";
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
    .insertInto("setting")
    .values({
      key: "site_title",
      value: "of before",
      type: "string",
      options: "",
      help: "",
      group_id: 1,
      flag: 0,
      origin: "custom",
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
      const { settings } = await store.load();
      expect([...settings].map(({ key, value }) => [key, value])).toEqual([
        ["site_title", "of before"],
      ]);
      expect(await store.sites.insert(storedSite("a"), [])).toBe(true);
      const state = { siteId: "a", version: 0, appliedRevision: 1, state: "{}" };
      expect(await store.sites.record([{ state, events: [], audit: [] }])).toEqual([1]);
      await store.close();
      const again = await place.open();
      expect(await again.sites.list()).toEqual([storedSite("a")]);
      await again.close();
    },
  );

  test("rows of the audit that were deleted before deletions were recorded are recorded by the first start", async () => {
    const current = await empty();
    const writer = await current.open();
    await writer.audit.append(Array.from({ length: 10 }, (_, at) => entry({ time: at })));
    await writer.close();
    const written: Selectable<Database["audit"]>[] = [];
    await current.use(async (db) => {
      written.push(...(await db.selectFrom("audit").selectAll().orderBy("seq").execute()));
    });
    const [, , , deleted, ...kept] = written;
    const last = written.at(-1);
    if (deleted === undefined || last === undefined) throw new Error("the audit has no rows");
    const place = await left(names.indexOf("0007_forgotten_rows_named"));
    await place.use(async (db) => {
      await db.insertInto("audit").values(kept).execute();
      const floor = `${deleted.seq} ${deleted.hash}`;
      await db.insertInto("meta").values({ name: "audit_floor", value: floor }).execute();
      // SQLite has no row of the newest one.
      const tables = await db.introspection.getTables();
      if (tables.some(({ name }) => name === "audit_head"))
        await db.updateTable("audit_head").set({ seq: last.seq, hash: last.hash }).execute();
    });
    const [store, other] = await Promise.all([place.open(), place.open()]);
    const rows = await allRows(store.audit);
    expect(rows.map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9, 10, 11]);
    expect(rows.at(-1)).toMatchObject({
      method: "forget",
      detail: '{"named":4,"found":4,"floor":4}',
    });
    expect(await problemOf(store.audit)).toBeUndefined();
    const [, cut] = rows;
    await place.use(async (db) => {
      await db.deleteFrom("audit").where("seq", "<=", 6).execute();
      await db
        .updateTable("meta")
        .set({ value: `6 ${cut?.hash}` })
        .where("name", "=", "audit_floor")
        .execute();
    });
    expect(await problemOf(store.audit)).toContain("row 5 is missing");
    await Promise.all([store.close(), other.close()]);
  });

  test("of a newer program it is refused, and unchanged", async () => {
    const place = await empty();
    await place.use((db) => leave(db, { ...steps, "9999_to_come": { up: async () => undefined } }));
    await expect(place.open()).rejects.toThrow("was written by a newer Mooring than this one");
  });
}
