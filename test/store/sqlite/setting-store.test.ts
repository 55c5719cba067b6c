import { type CompiledQuery, Kysely } from "kysely";
import { describe, expect, test } from "vitest";
import type { Database } from "../../../src/database/schema.ts";
import { createSqliteDialect } from "../../../src/database/sqlite/dialect.ts";
import { openSqlite } from "../../../src/database/sqlite/open.ts";
import { revisionsOf } from "../../../src/database/sqlite/segment.ts";
import { readRevisions } from "../../../src/ledger/history-query.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { describeSettingStore } from "../contract.ts";
import { temporaryPaths } from "../folder.ts";
import { setting } from "../sample.ts";

const newPath = temporaryPaths();

describeSettingStore("the setting store on SQLite", async () => {
  const path = newPath();
  return { open: () => openSqliteStore(path), remove: async () => undefined };
});

test("a commit that was acknowledged is kept after a power cut", async () => {
  const handle = await openSqlite(newPath());
  // FULL (sqlite.org/pragma.html): the log is flushed before a commit returns.
  expect(handle.pragma("synchronous", { simple: true })).toBe(2);
  expect(handle.pragma("journal_mode", { simple: true })).toBe("wal");
  handle.close();
});

describe("the setting store in memory", () => {
  test("exists while it is open, and is never changed elsewhere", async () => {
    const store = await openSqliteStore(":memory:");
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
    expect(await store.load()).toMatchObject({ revision: 1 });
    expect(store.changedElsewhere()).toBe(false);
    await store.close();
  });
});

describe("the index of the history", () => {
  test("is used to read the history of one key", async () => {
    const path = newPath();
    await (await openSqliteStore(path)).close();
    const handle = await openSqlite(path);
    const queries: CompiledQuery[] = [];
    const db = new Kysely<Database>({
      dialect: createSqliteDialect(handle),
      log: ({ query }) => void queries.push(query),
    });
    await readRevisions(db, { record: { kind: "thing", key: "a" }, limit: 9 }, revisionsOf);
    const { sql = "", parameters = [] } = queries[0] ?? {};
    const plan = handle.prepare(`explain query plan ${sql}`).all(...parameters);
    expect(JSON.stringify(plan)).toMatch(
      /SEARCH change USING COVERING INDEX change_segment \(<expr>=\? AND kind=\? AND key=\?\)/,
    );
    await db.destroy();
  });
});
