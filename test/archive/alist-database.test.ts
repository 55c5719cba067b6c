import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { afterAll, describe, expect, test } from "vitest";
import { readServerDatabase } from "../../src/archive/alist-database.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { readSource } from "../../src/archive/source.ts";
import { failureOf } from "../thrown.ts";
import { setting } from "./setting.ts";
import { PARTS, settingsOf } from "./text.ts";

const root = mkdtempSync(join(tmpdir(), "mooring-alist-"));
afterAll(() => rmSync(root, { recursive: true }));

const cipher = createPassphraseCipher(() => Buffer.alloc(0));
const read = async (path: string, table?: string) =>
  settingsOf(
    await readSource(readServerDatabase(path, table), { passphrase: "", parts: PARTS }, cipher),
  );

/** The table as the reference server's ORM creates it. */
const columns =
  "`key` text,`value` text,`help` text,`type` text,`options` text,`group` integer,`flag` integer,`index` integer,PRIMARY KEY (`key`)";

interface Made {
  readonly path: string;
  readonly folder: string;
  readonly handle: SQLite.Database;
}

function make({ tables = ["x_setting_items"], mode = "wal", definition = columns } = {}): Made {
  const folder = mkdtempSync(join(root, "site-"));
  const path = join(folder, "data.db");
  const handle = new SQLite(path);
  handle.pragma(`journal_mode = ${mode}`);
  for (const table of tables) handle.exec(`create table \`${table}\` (${definition})`);
  return { path, folder, handle };
}

function fill({ handle }: Made, table = "x_setting_items"): void {
  const insert = handle.prepare(`insert into \`${table}\` values (?,?,?,?,?,?,?,?)`);
  insert.run("site_title", "Harbour", "", "string", "", 1, 0, 2);
  insert.run("version", "v4", null, "string", null, 1, 2, 1);
}

const filled = [
  setting({ key: "version", value: "v4", group: 1, flag: 2 }),
  setting({ key: "site_title", value: "Harbour", group: 1 }),
];

describe("the database of an existing server", () => {
  test("is read while the server has it open, its write-ahead log included", async () => {
    const made = make();
    fill(made);
    expect(readdirSync(made.folder)).toContain("data.db-wal");
    expect(await read(made.path)).toEqual(filled);
    // The server can still write.
    made.handle.exec("delete from x_setting_items");
    expect((await failureOf(() => read(made.path))).message).toMatch(/lists .* are empty/);
    made.handle.close();
  });

  test.each(["wal", "delete"])(
    "is read when no process has it open, and no file is created beside it (mode %s)",
    async (mode) => {
      const made = make({ mode });
      fill(made);
      made.handle.close();
      expect(await read(made.path)).toEqual(filled);
      expect(readdirSync(made.folder)).toEqual(["data.db"]);
    },
  );

  test("may have any table prefix, or none", async () => {
    for (const table of ["setting_items", "a b_setting_items", 'quote"_SETTING_ITEMS']) {
      const made = make({ tables: [table, "x_users", "x_setting_items_old"] });
      fill(made, table);
      made.handle.close();
      expect(await read(made.path)).toEqual(filled);
    }
  });

  test("of an older version has fewer columns", async () => {
    const made = make({ definition: "`key` text, `value` text, `group` integer" });
    made.handle.exec("insert into x_setting_items values ('a', 'b', 3)");
    made.handle.close();
    expect(await read(made.path)).toEqual([setting({ key: "a", value: "b", type: "", group: 3 })]);
  });

  test("with several such tables is read only with a chosen prefix", async () => {
    const made = make({ tables: ["a_setting_items", "b_setting_items"] });
    fill(made, "b_setting_items");
    made.handle.close();
    const failure = await failureOf(() => read(made.path));
    expect(failure.message).toMatch(
      /the tables of several servers \(a_setting_items, b_setting_items\)/,
    );
    expect(await read(made.path, "b_setting_items")).toEqual(filled);
    expect((await failureOf(() => read(made.path, "c"))).message).toMatch(/has no table c/);
  });

  test("is refused when it has no such table, or is Mooring's own", async () => {
    const other = make({ tables: ["users"] });
    other.handle.exec("create view y_setting_items as select 1 as key");
    other.handle.close();
    expect((await failureOf(() => read(other.path))).message).toMatch(/no table whose name ends/);
    const own = make({ tables: ["setting", "revision"] });
    own.handle.close();
    expect((await failureOf(() => read(own.path))).message).toMatch(/is a Mooring database/);
  });

  test("is refused when the table has other columns, or too many rows", async () => {
    const odd = make({ definition: "`name` text" });
    odd.handle.close();
    expect((await failureOf(() => read(odd.path))).message).toMatch(/no column key and no column/);
    const full = make();
    full.handle.exec(
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20001) insert into x_setting_items(`key`) select i from n",
    );
    full.handle.close();
    expect((await failureOf(() => read(full.path))).message).toMatch(/20001 rows/);
  });

  test("is refused when a value is not text", async () => {
    const made = make();
    made.handle.exec("insert into x_setting_items(`key`, `value`) values ('a', x'00ff')");
    made.handle.close();
    expect((await failureOf(() => read(made.path))).message).toMatch(
      /settings\[0\]\.value .* text/,
    );
  });

  test("is refused when the file is damaged", async () => {
    const path = join(root, "damaged.db");
    writeFileSync(path, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(200, 0xee)]));
    expect((await failureOf(() => read(path))).message).toMatch(/damaged or encrypted/);
  });

  test("is refused when a page of the table is damaged", async () => {
    const made = make({ mode: "delete" });
    const insert = made.handle.prepare(
      "insert into x_setting_items values (?,?,'','string','',1,0,0)",
    );
    for (let at = 0; at < 200; at += 1) insert.run(`key${at}`, "v".repeat(100));
    made.handle.close();
    const bytes = readFileSync(made.path);
    for (let page = 2; page * 4_096 < bytes.length; page += 1)
      bytes.fill(0xee, page * 4_096, page * 4_096 + 100);
    writeFileSync(made.path, bytes);
    expect((await failureOf(() => read(made.path))).message).toMatch(
      /^the database .*data\.db is damaged or encrypted and can't be read: take a backup of it/,
    );
  });

  test("has storages of the same server, and the numbers of what is not read", () => {
    const made = make({ tables: ["a_setting_items"] });
    fill(made, "a_setting_items");
    made.handle.exec(
      "create table a_storages (mount_path text, driver text, addition text, disabled integer)",
    );
    made.handle.exec("insert into a_storages values ('/m', 'Local', '{}', 1)");
    made.handle.exec("create table a_users (id integer); insert into a_users values (1), (2)");
    made.handle.exec("create table b_users (id integer); insert into b_users values (1)");
    made.handle.close();
    const { settings, ...others } = readServerDatabase(made.path);
    expect(settings).toHaveLength(2);
    expect(others).toEqual({
      storages: [{ mount_path: "/m", driver: "Local", addition: "{}", disabled: 1 }],
      users: 2,
    });
  });
});
