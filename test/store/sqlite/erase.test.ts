import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import SQLite from "better-sqlite3";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../folder.ts";
import { setting, stored } from "../sample.ts";

const newPath = temporaryPaths();
const CLEAR = "in-the-clear-0123456789";

/** Files of a database that contain a text. */
function filesWith(path: string, text: string): string[] {
  const folder = dirname(path);
  return readdirSync(folder).filter((file) => readFileSync(join(folder, file)).includes(text));
}

const sealed = stored({ key: "a", body: "sealed" });

test("replaced values are in no file any more after a rewrite", async () => {
  const path = newPath();
  const store = await openSqliteStore(path);
  expect(await store.eraseReplaced()).toBeUndefined();
  const write = setting(1, { a: CLEAR });
  await store.transact((trx) => trx.write({ ...write, revisions: [] }));
  expect(filesWith(path, CLEAR)).not.toEqual([]);
  await store.rewrite(() => ({ records: [sealed], audit: [] }));
  expect(await store.eraseReplaced()).toBeUndefined();
  expect(filesWith(path, CLEAR)).toEqual([]);
  await store.close();
});

test("a reader that keeps them in the log is reported, and the next process continues the rewrite", async () => {
  const path = newPath();
  const store = await openSqliteStore(path, { lockWait: 100 });
  await store.transact((trx) => trx.write({ ...setting(1, { a: CLEAR }), revisions: [] }));
  const reader = new SQLite(path, { readonly: true });
  reader.exec("begin");
  reader.prepare("select count(*) from record").get();
  await store.rewrite(() => ({ records: [sealed], audit: [] }));
  expect(await store.eraseReplaced()).toMatch(
    /another program reads an older state .* so that .*-wal keeps it: end that program/,
  );
  expect(filesWith(path, CLEAR)).not.toEqual([]);
  const other = await openSqliteStore(path);
  await store.close();
  reader.exec("commit");
  reader.close();
  expect(await other.eraseReplaced()).toBeUndefined();
  expect(filesWith(path, CLEAR)).toEqual([]);
  await other.close();
});
