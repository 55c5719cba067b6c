import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import SQLite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { contentOf, makeDatabase } from "./database.ts";
import { run } from "./world.ts";

const newPath = temporaryPaths();

const ofSqlite = async (path: string) => contentOf(await openSqliteStore(path));

describe("database check", () => {
  test("reports no problem in an intact database", async () => {
    const path = await makeDatabase(newPath());
    expect(await run(["database", "check", "--database", path])).toEqual({
      code: 0,
      out: `${path} is whole\n`,
      err: "",
    });
  });

  test.each([
    ["delete from revision where revision = 5", /the history has gaps: 21 revisions from 1 to 22/],
    ["delete from revision where revision = 5", /belongs to revision 5, which is missing/],
    [
      "update record set body = 'x' where key = 'mine'",
      /the value of the setting mine differs from the value in revision/,
    ],
    [
      "update record set revision = 99 where key = 'mine'",
      /the setting mine has revision 99, which is newer than/,
    ],
    ["update audit set actor = 'x' where seq = 7", /the audit is damaged: row 7 was changed/],
    ["delete from audit where seq = 7", /the audit is damaged: row 7 is missing/],
    ["insert into meta values ('audit_published', '99 x 0')", /row 23 is missing: the audit ends/],
  ])("reports the damage after %s", async (statement, problem) => {
    const path = await makeDatabase(newPath());
    const handle = new SQLite(path);
    handle.exec(statement);
    handle.close();
    const { code, err } = await run(["database", "check", "--database", path]);
    expect(code).toBe(1);
    expect(err).toContain(`${path} is damaged`);
    expect(err).toMatch(problem);
  });

  test("reports a damaged page", async () => {
    const path = await makeDatabase(newPath());
    const handle = new SQLite(path, { readonly: true });
    const root = handle.prepare("select rootpage from sqlite_schema where name = 'record'");
    const page = Number(root.pluck().get());
    handle.close();
    writeFileSync(path, readFileSync(path).fill(0x5a, (page - 1) * 4_096 + 200, page * 4_096));
    const { code, err } = await run(["database", "check", "--database", path]);
    expect(code).toBe(1);
    expect(err).toMatch(/is damaged/);
  });

  test.each([
    [["database", "check"], 2, "database check requires --database"],
    [["database", "copy", "--from", "x"], 2, "database copy requires --from and --to"],
    [["database", "copy", "--from", "x", "--to", "x"], 3, "there is no database file"],
    [["database", "chek"], 2, "did you mean database check?"],
    [["database", "copy", "--from", "mysql://u:pw@h/x", "--to", "x"], 2, '--from "mysql:…" names'],
  ])("%j ends with %i", async (args, code, message) => {
    const ended = await run(args, { cwd: dirname(newPath()) });
    expect(ended.err).toContain(message);
    expect(ended.err).not.toContain("pw@");
    expect(ended.code).toBe(code);
  });
});

describe("database copy", () => {
  test("copies everything from one file to another, and refuses a target that is not empty", async () => {
    const [from, to] = [await makeDatabase(newPath()), newPath()];
    const dry = await run(["database", "copy", "--from", from, "--to", newPath(), "--dry-run"]);
    expect(dry.out).toMatch(/revision +22 rows/);
    const copied = await run(["database", "copy", "--from", from, "--to", to]);
    expect(copied.err).toBe("");
    expect(copied.out).toMatch(/revision +22 rows/);
    expect(await ofSqlite(to)).toEqual(await ofSqlite(from));
    const again = await run(["database", "copy", "--from", from, "--to", to]);
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/is not empty \(table .*\): the target of a copy must be empty/);
  });

  test("names the text that has a NUL character, and copies nothing", async () => {
    const [from, to] = [await makeDatabase(newPath()), newPath()];
    const file = new SQLite(from);
    file.prepare("update revision set reason = ? where revision = 3").run("a\0b");
    file.close();
    const { code, err } = await run(["database", "copy", "--from", from, "--to", to]);
    expect(code).toBe(1);
    expect(err).toMatch(/the reason of revision 3 in the table revision has a NUL character/);
    expect((await ofSqlite(to)).state).toEqual({ revision: 0, records: [] });
  });

  test("creates no file when the source is missing", async () => {
    const [from, to] = [newPath(), newPath()];
    const ended = await run([
      "database",
      "copy",
      "--from",
      join(dirname(from), "no.db"),
      "--to",
      to,
    ]);
    expect(ended.code).toBe(3);
    expect(existsSync(to)).toBe(false);
  });
});
