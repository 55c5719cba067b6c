import { describe, expect, onTestFinished, test } from "vitest";
import { openSqlite, type SqliteHandle } from "../../src/store/sqlite.ts";
import { openWalIndex, type WalIndex } from "../../src/store/wal-index.ts";
import { temporaryPaths } from "./folder.ts";

const newPath = temporaryPaths();

async function open(path: string): Promise<SqliteHandle> {
  const handle = await openSqlite(path);
  onTestFinished(() => void handle.close());
  return handle;
}

function indexOf(path: string): WalIndex {
  const index = openWalIndex(path);
  if (index === undefined) throw new Error("there is no index");
  return index;
}

/** Reads the header and keeps it. */
function look(index: WalIndex): void {
  index.isKept();
  index.keep();
}

describe("the header of the log's index", () => {
  test("stays while nothing is committed, also while others read or roll back", async () => {
    const path = newPath();
    const [one, other] = [await open(path), await open(path)];
    one.exec("create table item (value)");
    const index = indexOf(path);
    look(index);
    expect(index.isKept()).toBe(true);
    other.prepare("select * from item").all();
    other.exec("begin immediate; insert into item values (1); rollback");
    expect(index.isKept()).toBe(true);
  });

  test("changes with every commit of every connection", async () => {
    const path = newPath();
    const [one, other] = [await open(path), await open(path)];
    one.exec("create table item (value)");
    const index = indexOf(path);
    for (const handle of [one, other, one, one, other])
      for (const change of ["insert into item values (1)", "delete from item"]) {
        look(index);
        handle.exec(change);
        expect(index.isKept(), change).toBe(false);
      }
  });

  test("changes with a commit after the log began anew", async () => {
    const path = newPath();
    const [one, other] = [await open(path), await open(path)];
    one.exec("create table item (value)");
    const index = indexOf(path);
    for (let round = 0; round < 5; round += 1) {
      look(index);
      other.pragma("wal_checkpoint(TRUNCATE)");
      one.exec("insert into item values (1)");
      expect(index.isKept()).toBe(false);
    }
  });

  test("is not there for a database in memory, or one that is not open", () => {
    expect(openWalIndex(":memory:")).toBeUndefined();
    expect(openWalIndex(newPath())).toBeUndefined();
  });
});
