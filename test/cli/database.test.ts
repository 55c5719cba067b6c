import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import SQLite from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postgresServer } from "../../src/database/postgres/server.ts";
import { openPostgresSettingStore } from "../../src/store/postgres/store.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/stores.ts";
import { needs } from "../downloaders/program.ts";
import { openParts, save, tester } from "../settings/parts.ts";
import { allRows, entry } from "../store/audit-contract.ts";
import { temporaryPaths } from "../store/folder.ts";
import {
  hasPostgres,
  postgresProgram,
  startPostgres,
  type TestServer,
} from "../store/postgres/server.ts";
import { deleting, setting } from "../store/sample.ts";
import { run } from "./world.ts";

const newPath = temporaryPaths();

/** A site's settings with sealed secrets, and a history of some revisions. */
async function madeDatabase(revisions = 20): Promise<string> {
  const path = newPath();
  const parts = await openParts(path, { keys: [randomBytes(32).toString("hex")] });
  await parts.settings.resetToken(tester);
  await save(parts, { aria2_secret: "hidden", mine: "sealed:v1:no", site_title: "Hafen ⚓" });
  for (let at = 0; at < revisions; at += 1) await save(parts, { announcement: `no ${at}` });
  await parts.close();
  return path;
}

/** Everything in a store. */
async function contentOf(store: Store) {
  const state = await store.load();
  const commits = await store.commits(0, state.revision, state.revision);
  const { databaseId, fingerprintKey } = store;
  const audit = [await store.audit.floor(), await store.audit.head(), await allRows(store.audit)];
  await store.close();
  return { databaseId, fingerprintKey, state, commits, audit };
}

const ofSqlite = async (path: string) => contentOf(await openSqliteSettingStore(path));

describe("database check", () => {
  test("reports no problem in an intact database", async () => {
    const path = await madeDatabase();
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
      "update setting set value = 'x' where key = 'mine'",
      /the value of mine differs from the value in revision/,
    ],
    [
      "update setting set revision = 99 where key = 'mine'",
      /mine has revision 99, which is newer than/,
    ],
    ["update audit set actor = 'x' where seq = 7", /the audit is damaged: row 7 was changed/],
    ["delete from audit where seq = 7", /the audit is damaged: row 7 is missing/],
    ["insert into meta values ('audit_published', '99 x 0')", /row 23 is missing: the audit ends/],
  ])("reports the damage after %s", async (statement, problem) => {
    const path = await madeDatabase();
    const handle = new SQLite(path);
    handle.exec(statement);
    handle.close();
    const { code, err } = await run(["database", "check", "--database", path]);
    expect(code).toBe(1);
    expect(err).toContain(`${path} is damaged`);
    expect(err).toMatch(problem);
  });

  test("reports a damaged page", async () => {
    const path = await madeDatabase();
    const handle = new SQLite(path, { readonly: true });
    const root = handle.prepare("select rootpage from sqlite_schema where name = 'setting'");
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
  ])("%j ends with %i", async (args, code, said) => {
    const ended = await run(args, { cwd: dirname(newPath()) });
    expect(ended.err).toContain(said);
    expect(ended.err).not.toContain("pw@");
    expect(ended.code).toBe(code);
  });
});

describe("database copy", () => {
  test("copies everything from one file to another, and refuses a target that is not empty", async () => {
    const [from, to] = [await madeDatabase(), newPath()];
    const dry = await run(["database", "copy", "--from", from, "--to", newPath(), "--dry-run"]);
    expect(dry.out).toMatch(/revision +22 rows/);
    const copied = await run(["database", "copy", "--from", from, "--to", to]);
    expect(copied.err).toBe("");
    expect(copied.out).toMatch(/revision +22 rows/);
    expect(await ofSqlite(to)).toEqual(await ofSqlite(from));
    const again = await run(["database", "copy", "--from", from, "--to", to]);
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/is not empty \(table .*\): a copy goes into a new one only/);
  });

  test("names the text that has a NUL character, and copies nothing", async () => {
    const [from, to] = [await madeDatabase(), newPath()];
    const file = new SQLite(from);
    file.prepare("update revision set reason = ? where revision = 3").run("a\0b");
    file.close();
    const { code, err } = await run(["database", "copy", "--from", from, "--to", to]);
    expect(code).toBe(1);
    expect(err).toMatch(/the reason of revision 3 in the table revision has a NUL character/);
    expect((await ofSqlite(to)).state).toEqual({ revision: 0, settings: [] });
  });

  describe("to a PostgreSQL server and back", () => {
    const isThere = needs(postgresProgram("postgres"));
    beforeEach((context) => isThere(context));
    let server: TestServer;
    beforeAll(async () => {
      if (hasPostgres) server = await startPostgres();
    });
    afterAll(() => server?.remove());

    test("changes nothing, and saves continue afterwards", {
      timeout: 180_000,
    }, async () => {
      const [from, back, url] = [await madeDatabase(1_200), newPath(), await server.newDatabase()];
      expect(await run(["database", "copy", "--from", from, "--to", url])).toMatchObject({
        code: 0,
        err: "",
      });
      const original = await ofSqlite(from);
      const { revision } = original.state;
      const open = () => openPostgresSettingStore(postgresServer(url, "test"));
      expect(await contentOf(await open())).toEqual(original);
      expect(await run(["database", "check", "--database", url])).toMatchObject({ code: 0 });
      await run(["database", "copy", "--from", url, "--to", back]);
      expect(await ofSqlite(back)).toEqual(original);
      const store = await open();
      await store.transact((trx) => trx.write(setting(revision + 1, { mine: "after" })));
      await store.transact((trx) => trx.write(deleting(revision + 2, ["mine"])));
      await store.audit.append([entry()]);
      await store.close();
      const database = url.split("/").at(-1);
      expect(await run(["database", "check", "--database", url])).toMatchObject({ code: 0 });
      await server.query("delete from audit where seq = (select max(seq) from audit)", database);
      const cut = await run(["database", "check", "--database", url]);
      expect(cut.err).toContain("the newest row of the audit is not the one that was written last");
      await server.query("update head set revision = 1", database);
      const { code, err } = await run(["database", "check", "--database", url]);
      expect(code).toBe(1);
      expect(err).toContain(
        `the head names revision 1, but the last revision of the history is ${revision + 2}`,
      );
    });
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
