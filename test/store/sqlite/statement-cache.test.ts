import { expect, test } from "vitest";
import { keepStatements } from "../../../src/database/sqlite/dialect.ts";
import { openSqlite } from "../../../src/database/sqlite/open.ts";

async function opened() {
  const handle = await openSqlite(":memory:");
  handle.exec("create table boat (name text)");
  handle.exec("insert into boat values ('Anna'), ('Berta')");
  return { handle, database: keepStatements(handle) };
}

test("a statement is prepared once for the same text", async () => {
  const { database } = await opened();
  const first = database.prepare("select name from boat where name = ?");
  expect(first.all(["Anna"])).toEqual([{ name: "Anna" }]);
  const again = database.prepare("select name from boat where name = ?");
  expect(again).toBe(first);
  expect(again.all(["Berta"])).toEqual([{ name: "Berta" }]);
});

test("a cached statement follows a change of the schema", async () => {
  const { handle, database } = await opened();
  const text = "select * from boat where name = ?";
  database.prepare(text).all(["Anna"]);
  handle.exec("alter table boat add column length integer default 7");
  expect(database.prepare(text).all(["Anna"])).toEqual([{ name: "Anna", length: 7 }]);
});

test("a statement in iteration is not reused", async () => {
  const { database } = await opened();
  const text = "select name from boat order by name";
  const names: unknown[] = [];
  for (const row of database.prepare(text).iterate([]))
    names.push(row, database.prepare(text).all([]).length);
  expect(names).toEqual([{ name: "Anna" }, 2, { name: "Berta" }, 2]);
});

test("very long texts, and those not used for a hundred texts, are not cached", async () => {
  const { database } = await opened();
  const first = database.prepare("select 'first'");
  const second = database.prepare("select 'second'");
  for (let at = 0; at < 98; at += 1) database.prepare(`select ${at}`);
  // A further use makes it the newest.
  expect(database.prepare("select 'first'")).toBe(first);
  database.prepare("select 'one more'");
  expect(database.prepare("select 'first'")).toBe(first);
  expect(database.prepare("select 'second'")).not.toBe(second);
  const long = `select '${"x".repeat(20_000)}'`;
  expect(database.prepare(long)).not.toBe(database.prepare(long));
});

test("closing the cache closes the database", async () => {
  const { handle, database } = await opened();
  database.prepare("select name from boat").all([]);
  database.close();
  expect(handle.open).toBe(false);
});
