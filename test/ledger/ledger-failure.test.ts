import { Code } from "@connectrpc/connect";
import SQLite from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { SETTINGS } from "../../src/settings/kind.ts";
import { save, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { startProcess } from "../store/process.ts";
import { canMount, mountSmallDisk } from "../store/sqlite/small-disk.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();

/** A copy of a database that is in use. */
function copyOf(path: string): string {
  const copy = newPath();
  const other = new SQLite(path);
  other.exec(`vacuum into '${copy}'`);
  other.close();
  return copy;
}

/** Restores the content of a copy into a database that is in use. */
function restore(path: string, copy: string): void {
  const database = new SQLite(path);
  database.exec(`attach '${copy}' as copy; begin immediate`);
  for (const table of ["record", "revision", "change"])
    database.exec(
      `delete from main.${table}; insert into main.${table} select * from copy.${table}`,
    );
  database.exec("commit");
  database.close();
}

describe("when the database is restored to an older state while in use", () => {
  test("the settings are restored too, readers are notified, and revisions continue from there", async () => {
    const path = newPath();
    const parts = await testParts(path);
    await save(parts, { site_title: "old", mine: "1" });
    const copy = copyOf(path);
    for (const value of ["a", "b", "c"]) await save(parts, { site_title: value, [value]: value });
    const { signal } = new AbortController();
    const reader = parts.feed.read(4, signal)[Symbol.asyncIterator]();
    const failure = failureOf(() => reader.next());
    restore(path, copy);
    const snapshot = await parts.ledger.fresh();
    expect(snapshot).toMatchObject({ revision: 1 });
    expect(snapshot.get(SETTINGS, "site_title")?.value).toBe("old");
    expect(snapshot.get(SETTINGS, "c")).toBeUndefined();
    expect(await failure).toMatchObject({ code: Code.Unavailable });
    expect(
      (await failureOf(() => parts.feed.read(4, signal)[Symbol.asyncIterator]().next())).code,
    ).toBe(Code.OutOfRange);
    expect(await save(parts, { site_title: "new" })).toMatchObject({ revision: 2 });
    const again = parts.feed.read(1, signal)[Symbol.asyncIterator]();
    expect((await again.next()).value).toMatchObject([{ revision: 2 }]);
  });

  test("a change requested in between is decided on that state", async () => {
    const path = newPath();
    const parts = await testParts(path);
    await save(parts, { site_title: "old" });
    const copy = copyOf(path);
    await save(parts, { site_title: "newer", logo: "newer" });
    restore(path, copy);
    const { commit, revision } = await save(parts, { site_title: "newest" });
    expect(revision).toBe(2);
    expect(commit?.changes).toMatchObject([{ oldBody: "old", newBody: "newest" }]);
    expect(parts.settings.get("logo").revision).toBe(0);
  });
});

test("while another program holds the lock, a save is UNAVAILABLE and reads continue", async () => {
  const path = newPath();
  const parts = await testParts(path, { lockWait: 100 });
  await save(parts, { site_title: "kept" });
  const other = startProcess(new URL("../store/sqlite/store-program.ts", import.meta.url));
  await other.call("lock", path, "begin immediate");
  const failed = failureOf(() => save(parts, { site_title: "never" }));
  expect((await parts.ledger.fresh()).get(SETTINGS, "site_title")?.value).toBe("kept");
  expect(await parts.history.list({ pageSize: 0 })).toMatchObject({ revisions: [{ revision: 1 }] });
  const { code, message } = await failed;
  expect(code).toBe(Code.Unavailable);
  expect(message).toMatch(/^nothing was saved: the database .* is locked by another program/);
  expect(parts.settings.get("site_title").value).toBe("kept");
  await other.call("release", "commit");
  expect(await save(parts, { site_title: "later" })).toMatchObject({ revision: 2 });
});

describe.skipIf(!canMount)("on a full disk (needs the right to mount one)", () => {
  test("saves are RESOURCE_EXHAUSTED, reads continue, and saves succeed once there is space", async () => {
    const { path, fill, free } = mountSmallDisk();
    const parts = await testParts(path);
    await save(parts, { site_title: "kept" });
    const { token } = await parts.settings.resetToken(tester);
    fill();
    const large = "v".repeat(60_000);
    for (let at = 0; at < 3; at += 1) {
      const saves = ["a", "b", "c"].map((key) => failureOf(() => save(parts, { [key]: large })));
      for (const { code, message } of await Promise.all(saves)) {
        expect(code).toBe(Code.ResourceExhausted);
        expect(message).toMatch(/^nothing was saved: the database .* its disk is full/);
      }
      expect(await parts.ledger.fresh()).toBe(parts.ledger.snapshot());
      expect(parts.settings.get("token").value).toBe(token);
      expect(await parts.history.get(1)).toMatchObject({ revision: 1 });
    }
    free();
    expect(await save(parts, { a: "1" })).toMatchObject({ revision: 3 });
    await parts.close();
    const again = await testParts(path);
    onTestFinished(() => again.close());
    expect(again.settings.get("site_title").value).toBe("kept");
    expect(again.settings.get("a").value).toBe("1");
  });
});
