import SQLite from "better-sqlite3";
import { type CompiledQuery, Kysely } from "kysely";
import { describe, expect, test } from "vitest";
import { readRevisions } from "../../src/store/history-query.ts";
import type { Database } from "../../src/store/schema.ts";
import { createSqliteDialect, openSqlite } from "../../src/store/sqlite.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite-setting-store.ts";
import { describeSettingStore } from "./contract.ts";
import { temporaryPaths } from "./folder.ts";
import { setting } from "./sample.ts";

const newPath = temporaryPaths();

describeSettingStore("the setting store on SQLite", async () => {
  const path = newPath();
  return { open: () => openSqliteSettingStore(path), remove: async () => undefined };
});

describe("the setting store in memory", () => {
  test("lives as long as it is open, and never changes elsewhere", async () => {
    const store = await openSqliteSettingStore(":memory:");
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
    expect(await store.load()).toMatchObject({ revision: 1 });
    expect(store.changedElsewhere()).toBe(false);
    await store.close();
  });
});

describe("the index of the history", () => {
  test("is made anew in a database of the first schema, with what stands there", async () => {
    const path = newPath();
    const store = await openSqliteSettingStore(path);
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
    await store.close();
    const handle = new SQLite(path);
    handle.exec("drop index change_segment; create index change_key on change (key, revision)");
    handle.exec("delete from migration where name like '0002%'");
    handle.close();
    const again = await openSqliteSettingStore(path);
    expect(await again.listRevisions({ key: "a", limit: 9 })).toMatchObject([{ revision: 1 }]);
    await again.close();
    const [{ names }] = new SQLite(path)
      .prepare("select group_concat(name) names from sqlite_schema where type = 'index'")
      .all() as [{ names: string }];
    expect(names).toContain("change_segment");
    expect(names).not.toContain("change_key");
  });

  test("is what a history of one key is read from", async () => {
    const path = newPath();
    await (await openSqliteSettingStore(path)).close();
    const handle = await openSqlite(path);
    const asked: CompiledQuery[] = [];
    const db = new Kysely<Database>({
      dialect: createSqliteDialect(handle),
      log: ({ query }) => void asked.push(query),
    });
    await readRevisions(db, { key: "a", limit: 9 });
    const { sql = "", parameters = [] } = asked[0] ?? {};
    const plan = handle.prepare(`explain query plan ${sql}`).all(...parameters);
    expect(JSON.stringify(plan)).toMatch(
      /SEARCH change USING COVERING INDEX change_segment \(<expr>=\? AND key=\?\)/,
    );
    await db.destroy();
  });
});
