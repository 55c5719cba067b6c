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

test("a kept statement sees that the schema has changed", async () => {
  const { handle, database } = await opened();
  const text = "select * from boat where name = ?";
  database.prepare(text).all(["Anna"]);
  handle.exec("alter table boat add column length integer default 7");
  expect(database.prepare(text).all(["Anna"])).toEqual([{ name: "Anna", length: 7 }]);
});

test("a statement that is being iterated over is left to who iterates", async () => {
  const { database } = await opened();
  const text = "select name from boat order by name";
  const names: unknown[] = [];
  for (const row of database.prepare(text).iterate([]))
    names.push(row, database.prepare(text).all([]).length);
  expect(names).toEqual([{ name: "Anna" }, 2, { name: "Berta" }, 2]);
});

test("what was asked a hundred texts ago, or is very long, is not kept", async () => {
  const { database } = await opened();
  const first = database.prepare("select 'first'");
  const second = database.prepare("select 'second'");
  for (let at = 0; at < 98; at += 1) database.prepare(`select ${at}`);
  // Asked again, it is the newest.
  expect(database.prepare("select 'first'")).toBe(first);
  database.prepare("select 'one more'");
  expect(database.prepare("select 'first'")).toBe(first);
  expect(database.prepare("select 'second'")).not.toBe(second);
  const long = `select '${"x".repeat(20_000)}'`;
  expect(database.prepare(long)).not.toBe(database.prepare(long));
});

test("closing it closes the database", async () => {
  const { handle, database } = await opened();
  database.prepare("select name from boat").all([]);
  database.close();
  expect(handle.open).toBe(false);
});
