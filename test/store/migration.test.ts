import { PGlite } from "@electric-sql/pglite";
import { Kysely, PGliteDialect } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Migrations, migrate } from "../../src/database/migrate.ts";
import type { Database } from "../../src/database/schema.ts";
import { createSqliteDialect } from "../../src/database/sqlite/dialect.ts";
import { openSqlite } from "../../src/database/sqlite/open.ts";
import type { SettingStore } from "../../src/settings/store.ts";
import type { SiteStore } from "../../src/sites/store.ts";
import { migrations as ofPostgres } from "../../src/store/postgres/migration.ts";
import { openPostgresSettingStore } from "../../src/store/postgres/store.ts";
import { migrations as ofSqlite } from "../../src/store/sqlite/migration.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "./folder.ts";
import { serverOf } from "./postgres/pglite.ts";
import { storedSite } from "./site-contract.ts";

const newPath = temporaryPaths();

let postgres: PGlite;
beforeAll(async () => {
  postgres = await PGlite.create();
}, 90_000);
afterAll(() => postgres.close());

/** A database of one kind, as an older program left it. */
interface Kind {
  readonly name: string;
  readonly steps: Migrations;
  /** Makes one with some steps, and a setting in it. @returns what opens it with this program. */
  readonly left: (
    steps: Migrations,
  ) => Promise<() => Promise<SettingStore & { readonly sites: SiteStore }>>;
}

const kinds: readonly Kind[] = [
  {
    name: "SQLite",
    steps: ofSqlite,
    left: async (steps) => {
      const path = newPath();
      const handle = await openSqlite(path);
      await leave(new Kysely<Database>({ dialect: createSqliteDialect(handle) }), steps);
      return () => openSqliteSettingStore(path);
    },
  },
  {
    name: "PostgreSQL",
    steps: ofPostgres,
    left: async (steps) => {
      await postgres.exec("drop schema public cascade; create schema public");
      const server = serverOf(postgres);
      await leave(
        new Kysely<Database>({ dialect: new PGliteDialect({ pglite: postgres }) }),
        steps,
      );
      return () => openPostgresSettingStore(server);
    },
  },
];

async function leave(db: Kysely<Database>, steps: Migrations): Promise<void> {
  await migrate(db, "here", steps);
  await db
    .insertInto("setting")
    .values({
      ...{ key: "site_title", value: "of before", type: "string", options: "", help: "" },
      ...{ group_id: 1, flag: 0, origin: "custom", position: 1, revision: 1 },
    })
    .execute();
}

describe.each(kinds)("a database of before on $name", ({ steps, left }) => {
  const names = Object.keys(steps);

  test("steps stand in the order in which they are taken, each number once", () => {
    expect(names).toEqual([...names].sort());
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, at) => at + 1));
  });

  test.each(names.map((name, at) => [name, at + 1] as const))(
    "left at %s it opens, keeps what it has, and takes sites",
    async (_, count) => {
      const open = await left(Object.fromEntries(Object.entries(steps).slice(0, count)));
      const store = await open();
      const { settings } = await store.load();
      expect([...settings].map(({ key, value }) => [key, value])).toEqual([
        ["site_title", "of before"],
      ]);
      expect(await store.sites.insert(storedSite("a"), [])).toBe(true);
      const state = { siteId: "a", version: 0, appliedRevision: 1, state: "{}" };
      expect(await store.sites.record([{ state, events: [], audit: [] }])).toEqual([1]);
      await store.close();
      const again = await open();
      expect(await again.sites.list()).toEqual([storedSite("a")]);
      await again.close();
    },
  );

  test("of a newer program it is refused, and left as it is", async () => {
    const open = await left({ ...steps, "9999_to_come": { up: async () => undefined } });
    await expect(open()).rejects.toThrow("was written by a newer Mooring than this one");
  });
});
