import { cpSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashOf, tailOf, type UnchainedRow } from "../../src/audit/chain.ts";
import { cli, service, startService, TOKEN, useService } from "./service.ts";

useService();

/** The newest row at the time of the checkpoint. */
let newest = 0;
beforeAll(async () => {
  for (let at = 0; at < 8; at += 1) await cli(["set", `site_title=Title ${at}`, "--reason", "why"]);
  await cli(["audit", "checkpoint", "--output", "before.checkpoint"]);
  newest = Number(
    (await readFile(join(service.folder, "before.checkpoint"), "utf8")).split("\n")[1],
  );
  for (let at = 0; at < 3; at += 1) await cli(["set", `announcement=News ${at}`]);
});

test("list prints matching rows, newest first", async () => {
  const all = await cli(["audit", "list"]);
  expect(all).toMatchObject({ code: 0, err: "" });
  expect(all.out).toMatch(/^ROW +TIME +ACTOR +BY +OUTCOME +ABOUT +DETAIL\n/);
  expect(all.out).toMatch(
    / admin +grpc SaveSettings +OK +announcement +\{"revision":\d+,"keys":1\}\n/,
  );
  const some = await cli([
    "audit",
    "list",
    "--subject",
    "site_*",
    "--method",
    "SaveSettings",
    "-n",
    "2",
  ]);
  expect(some.out.split("\n").slice(1)).toEqual([
    expect.stringContaining("site_title"),
    expect.stringContaining('"reason":"why"'),
    "",
  ]);
  const json = await cli(["audit", "list", "--json", "-n", "1"]);
  expect(JSON.parse(json.out).events[0]).toMatchObject({
    subjects: ["announcement"],
    outcome: "OK",
  });
  for (const [flag, value] of [
    ["--actor", "nobody"],
    ["--outcome", "UNAUTHENTICATED"],
    ["--token-id", "0123456789ab"],
    ["--until", "2020-01-01"],
  ] as const)
    expect(await cli(["audit", "list", flag, value])).toMatchObject({
      code: 0,
      out: "",
      err: "mooring: the audit has no matching row\n",
    });
});

test("export prints each row as a line, from the oldest or a given row on", async () => {
  const { out } = await cli(["audit", "export"]);
  const rows = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ sequence }) => Number(sequence))).toEqual(rows.map((_row, at) => at + 1));
  expect(out).not.toContain(TOKEN);
  const rest = await cli(["audit", "export", "--after", String(rows.length - 2)]);
  expect(
    rest.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(rows.slice(-2));
});

test.each<[string[], number, RegExp]>([
  [["audit"], 2, /an action is missing, such as audit list/],
  [["audit", "show"], 2, /there is no command "audit show"/],
  [["audit", "verify", "--subject", "x"], 2, /--subject goes with audit list only/],
  [["audit", "verify", "--json"], 2, /prints no JSON/],
  [["audit", "verify", "--checkpoint", "none"], 3, /none/],
  [
    ["audit", "verify", "--checkpoint", "mooring.db"],
    1,
    /not UTF-8 text|is not a checkpoint|more than/,
  ],
  [["audit", "export", "--after", "x"], 2, /is not the number of a row/],
  [["audit", "export", "--after", "999999"], 0, /^$/],
  [["audit", "list", "--subject", "x".repeat(300)], 4, /more than 255 characters/],
])("%j ends with %d", async (args, code, message) => {
  expect(await cli(args)).toMatchObject({ code, err: expect.stringMatching(message) });
});

type Tamper = (database: SQLite.Database) => unknown;

/** A row with its hash computed again. */
function rehash(database: SQLite.Database, seq: number, prev?: string): string {
  const row = database.prepare("select * from audit where seq = ?").get(seq) as UnchainedRow & {
    prev: string;
  };
  const before = prev ?? row.prev;
  const hash = hashOf(seq, before, tailOf(row));
  database.prepare("update audit set prev = ?, hash = ? where seq = ?").run(before, hash, seq);
  return hash;
}

/** Rewrites all rows from one on, with valid hashes. */
function rewriteFrom(database: SQLite.Database, seq: number): void {
  let prev: string | undefined;
  const { last } = database.prepare("select max(seq) as last from audit").get() as { last: number };
  for (let at = seq; at <= last; at += 1) prev = rehash(database, at, prev);
}

/** Deletes rows from the beginning up to one. */
function deleteUpTo(database: SQLite.Database, seq: number): void {
  const hash = database.prepare("select hash from audit where seq = ?").pluck().get(seq);
  database.prepare("delete from audit where seq <= ?").run(seq);
  database.prepare("insert into meta values ('audit_floor', ?)").run(`${seq} ${hash}`);
}

/** Appends a copy of a row with some other columns. */
function addRow(database: SQLite.Database, columns: Partial<UnchainedRow>): void {
  const last = database.prepare("select * from audit order by seq desc limit 1").get() as {
    readonly seq: number;
    readonly hash: string;
  };
  const row = { ...last, ...columns, seq: last.seq + 1 };
  const names = Object.keys(row);
  database
    .prepare(`insert into audit (${names}) values (${names.map((name) => `@${name}`)})`)
    .run(row);
  rehash(database, row.seq, last.hash);
}

/** A copy of the database of the service, which `tamper` changes. */
function copied(tamper: Tamper, path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  cpSync(service.database, path);
  const database = new SQLite(path);
  tamper(database);
  database.close();
}

const intact: Tamper = () => undefined;
const changed: Tamper = (db) =>
  db.exec("update audit set detail = replace(detail, 'why', 'wry') where seq = 5");
const ends = (code: number, err: string) => ({ code, out: "", err: expect.stringContaining(err) });
const DAMAGED = "mooring audit: the audit is damaged: ";

describe("verify", () => {
  beforeAll(() => service.stop());
  afterAll(() => service.start());

  const verify = (tamper: Tamper, ...args: string[]) => {
    const path = join(service.folder, "copy.db");
    copied(tamper, path);
    return cli(["audit", "verify", ...args, "--database", path]);
  };
  const checkpoint = ["--checkpoint", "before.checkpoint"];

  test("reports no problem in an intact audit", async () => {
    expect(await verify(intact)).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(
        new RegExp(
          `^the audit is intact: rows 1 to ${newest + 3} follow each other; the newest has the hash \\w{64}\n$`,
        ),
      ),
    });
    expect(await verify(intact, ...checkpoint)).toMatchObject({
      code: 0,
      out: expect.stringContaining(", and match the checkpoint;"),
    });
  });

  // test/audit/chain.test.ts has all kinds of damage.
  test("names a changed row, and with a checkpoint a missing end", async () => {
    expect(await verify(changed)).toMatchObject(
      ends(1, `${DAMAGED}row 5 was changed after it was written: its hash`),
    );
    const cut: Tamper = (db) => db.exec(`delete from audit where seq > ${newest - 2}`);
    expect(await verify(cut)).toMatchObject({ code: 0 });
    expect(await verify(cut, ...checkpoint)).toMatchObject(
      ends(1, `row ${newest - 1} is missing: the audit ends with row ${newest - 2}`),
    );
  });

  test.each<[string, Tamper]>([
    ["a time with a fraction", (db) => db.exec("update audit set time = time + 0.5 where seq = 5")],
    ["a time before 1970", (db) => db.exec("update audit set time = -1 where seq = 5")],
    [
      "a time with a fraction, with its row's hash",
      (db) => {
        db.exec("update audit set time = time + 0.5 where seq = 5");
        rewriteFrom(db, 5);
      },
    ],
    [
      "bytes in place of a text",
      (db) => db.exec("update audit set subject = x'00ff' where seq = 5"),
    ],
    ["no JSON", (db) => db.exec("update audit set detail = '{' where seq = 5")],
  ])("names a row that was damaged: %s", async (_what, tamper) => {
    expect(await verify(tamper)).toMatchObject(
      ends(1, `${DAMAGED}row 5 was changed after it was written`),
    );
  });

  test("reports a checkpoint of another database, or one that is too old", async () => {
    const text = await readFile(join(service.folder, "before.checkpoint"), "utf8");
    await writeFile(join(service.folder, "b.checkpoint"), text.replace(/^/, "another-"));
    expect(await verify(intact, "--checkpoint", "b.checkpoint")).toMatchObject(
      ends(1, 'is of the database "another-'),
    );
    const forget: Tamper = (db) => {
      deleteUpTo(db, newest + 1);
      addRow(db, {
        actor: "mooring",
        transport: "",
        method: "forget",
        peer: "",
        subject: "audit",
        detail: `{"named":0,"found":0,"floor":${newest + 1}}`,
      });
    };
    expect(await verify(forget)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`rows ${newest + 2} to`),
    });
    expect(await verify(forget, ...checkpoint)).toMatchObject(ends(1, "which has been deleted"));
  });
});

test("verify reads the audit of a service in the same way", async () => {
  const other = await startService();
  try {
    for (const tamper of [intact, changed]) {
      await other.stop();
      copied(tamper, other.database);
      await other.start();
      const ended = await other.cli(["audit", "verify"]);
      if (tamper === changed) expect(ended).toMatchObject(ends(1, `${DAMAGED}row 5 was changed`));
      else expect(ended).toMatchObject({ code: 0, out: expect.stringContaining("is intact") });
    }
  } finally {
    await other.remove();
  }
});
