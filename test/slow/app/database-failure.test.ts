import { dirname } from "node:path";
import SQLite from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectNamed, startWithObjects } from "../../app/database-failure.ts";
import { canMount, mountSmallDisk } from "../../store/sqlite/small-disk.ts";

describe("every rpc names the cause", () => {
  test("of a database that another program has locked", async () => {
    const started = await startWithObjects();
    const other = new SQLite(started.path);
    onTestFinished(() => void other.close());
    other.exec("begin immediate");
    await expectNamed(started, /the database .* is locked by another program/);
  });

  test.skipIf(!canMount)("of a database on a full disk", async () => {
    const disk = mountSmallDisk("8m");
    const started = await startWithObjects(dirname(disk.path));
    disk.fill();
    await expectNamed(started, /the database .* its disk is full/);
    const problem = async (): Promise<string | undefined> =>
      (await started.local.services.status.checks()).find(({ name }) => name === "store")?.problem;
    await expect.poll(problem).toBe("the disk of the database is full");
    disk.free();
    await expect.poll(problem).toBeUndefined();
  });
});
