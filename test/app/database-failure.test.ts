import { rmSync } from "node:fs";
import SQLite from "better-sqlite3";
import { describe, onTestFinished, test } from "vitest";
import { expectNamed, startWithObjects } from "./database-failure.ts";

describe("every rpc names the cause", () => {
  test("of a database whose file was deleted", async () => {
    const started = await startWithObjects();
    rmSync(started.path);
    await expectNamed(started, /mooring\.db was deleted while the service used it/);
  });

  test("of a database whose tables another program has deleted", async () => {
    const started = await startWithObjects();
    const other = new SQLite(started.path);
    onTestFinished(() => void other.close());
    const tables = other.prepare("select name from sqlite_schema where type = 'table'").pluck();
    for (const name of tables.all()) other.exec(`drop table if exists "${name}"`);
    await expectNamed(started, /the database .* failed|cannot be read/);
  });
});
