import { renameSync, rmSync } from "node:fs";
import SQLite from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
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

test("the status and its checks report a deleted database, and the status is answered", async () => {
  const { local, path } = await startWithObjects();
  const problem = async (): Promise<string | undefined> =>
    (await local.services.status.checks()).find(({ name }) => name === "store")?.problem;
  expect(await problem()).toBeUndefined();
  renameSync(path, `${path}-away`);
  await expect.poll(problem).toBe("the files of the database were deleted or replaced");
  await expect(local.call("GetStatus")).resolves.toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({ name: "store", problem: expect.stringContaining("deleted") }),
    ]),
  });
  renameSync(`${path}-away`, path);
  await expect.poll(problem).toBeUndefined();
});
