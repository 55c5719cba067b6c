import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { dirname, join } from "node:path";
import SQLite from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeDataFolder } from "../../../src/database/sqlite/file.ts";
import type { SqliteOptions } from "../../../src/database/sqlite/open.ts";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { startedForAll } from "../../started.ts";
import { temporaryPaths } from "../folder.ts";
import { failureOf as failureOfAction } from "../postgres/opened.ts";
import { startSharedProcess } from "../process.ts";
import { setting } from "../sample.ts";
import { canMount, mountSmallDisk } from "./small-disk.ts";

const newPath = temporaryPaths();
const program = new URL("./store-program.ts", import.meta.url);
const isRoot = process.getuid?.() === 0;
/** Another program. */
const other = startedForAll(() => startSharedProcess(program));

async function open(path: string, options?: SqliteOptions): Promise<LedgerStore> {
  const store = await openSqliteStore(path, options);
  onTestFinished(() => store.close());
  return store;
}

/** The one-sentence failure of opening a path, or of another action. */
const failureOf = (action: string | (() => Promise<unknown>)) =>
  failureOfAction(typeof action === "string" ? () => open(action) : action);

/** A database with one setting at revision 1, closed. */
async function made(path = newPath()): Promise<string> {
  const store = await openSqliteStore(path);
  await store.transact((trx) => trx.write(setting(1, { a: "1" })));
  await store.close();
  return path;
}

describe("opening a database reports in one sentence", () => {
  test("a missing folder, with the variables that set it", async () => {
    const path = join(dirname(newPath()), "no", "such", "mooring.db");
    const { failure, message } = await failureOf(path);
    expect(failure).toBe("unusable");
    expect(message).toContain(dirname(path));
    expect(message).toMatch(/does not exist: create it, or set MOORING_DATABASE_URL/);
  });

  test("a folder in its place", async () => {
    const path = newPath();
    mkdirSync(path);
    expect((await failureOf(path)).message).toMatch(/is not a regular file/);
  });

  test.each([
    ["one letter", Buffer.from("x")],
    ["a text", Buffer.from("these are notes, not a database\n".repeat(100))],
    ["zeros", Buffer.alloc(8_192)],
    [
      "an encrypted database",
      Buffer.from(Array.from({ length: 8_192 }, (_, at) => (at * 89) % 251)),
    ],
  ])("%s, which is not an SQLite database, and leaves it unchanged", async (_, content) => {
    const path = newPath();
    writeFileSync(path, content);
    const { failure, message } = await failureOf(path);
    expect(failure).toBe("unusable");
    expect(message).toMatch(/is not a SQLite database: set MOORING_DATABASE_URL/);
    expect(readFileSync(path)).toEqual(content);
  });

  test("a database of another program, with an application id or without", async () => {
    for (const statement of ["create table mine (a)", "pragma application_id = 5"]) {
      const path = newPath();
      const other = new SQLite(path);
      other.exec(statement);
      other.close();
      const before = readFileSync(path);
      const { failure, message } = await failureOf(path);
      expect(failure).toBe("unusable");
      expect(message).toMatch(/is a database of another program/);
      expect(readFileSync(path)).toEqual(before);
    }
  });

  test("a database of a newer Mooring, and changes nothing", async () => {
    const path = await made();
    const future = new SQLite(path);
    future.exec("insert into migration values ('9999_future', '2099-01-01T00:00:00.000Z')");
    future.close();
    const { failure, message } = await failureOf(path);
    expect(failure).toBe("unusable");
    expect(message).toMatch(/was written by a newer Mooring than this one: update this program/);
  });

  test("a lock of another program, after a wait", async () => {
    const path = await made();
    await other.call("lock", path, "pragma locking_mode = exclusive; begin exclusive");
    const { failure, message } = await failureOf(() => open(path, { lockWait: 100 }));
    expect(failure).toBe("busy");
    expect(message).toMatch(/is locked by another program: close it there/);
  });

  test("a damaged database", async () => {
    const path = await made();
    const content = readFileSync(path);
    content.fill(0x5a, 100, content.length);
    writeFileSync(path, content);
    expect((await failureOf(path)).message).toMatch(/is damaged: stop the service and restore/);
  });

  test("a data directory that cannot be created", async () => {
    const path = newPath("a-file");
    writeFileSync(path, "");
    await expect(makeDataFolder(join(path, "data"))).rejects.toThrow(
      /the data directory .* cannot be made/,
    );
  });

  describe("as an unprivileged user", () => {
    /** A process without rights, if this one runs as root. */
    const user = startedForAll(async () => {
      const started = startSharedProcess(program);
      if (isRoot) await started.call("dropRights");
      return started;
    });
    const allowed = async (path: string, file: number, folder: number): Promise<void> => {
      await chmod(dirname(dirname(path)), 0o755);
      await chmod(path, file);
      if (isRoot) await chown(dirname(path), 65_534, 65_534);
      await chmod(dirname(path), folder);
      onTestFinished(() => chmod(dirname(path), 0o755));
    };

    test.each([
      ["a file without read permission", 0o000, 0o755, /cannot be opened: give this .* the right/],
      ["a folder that cannot be entered", 0o600, 0o000, /cannot be opened: give this .* the right/],
      ["a read-only file", 0o444, 0o755, /this process the right to read and write the file/],
      ["a read-only folder", 0o666, 0o555, /this process the right to (read and )?write/],
    ])("%s", async (_, file, folder, problem) => {
      const path = await made();
      await allowed(path, file, folder);
      await expect(user.call("open", path)).rejects.toMatchObject({
        name: "StoreError",
        message: expect.stringMatching(problem),
      });
    });
  });
});

test("a short lock of another program is waited for, at the start and later", async () => {
  const path = newPath();
  await other.call("lock", path, "begin exclusive");
  await other.call("releaseLater", "commit", 300);
  const store = await open(path);
  await store.transact((trx) => trx.write(setting(1, { a: "1" })));
  await other.call("lock", path, "begin immediate");
  const write = store.transact((trx) => trx.write(setting(2, { a: "2" })));
  expect(await store.load()).toMatchObject({ revision: 1 });
  await other.call("release", "commit");
  await write;
  expect(await store.load()).toMatchObject({ revision: 2 });
});

describe.skipIf(!canMount)("on a full disk (needs the right to mount one)", () => {
  test("a new database cannot be created, and the message has the reason", async () => {
    const { path, fill, free } = mountSmallDisk();
    fill();
    expect((await failureOf(path)).failure).toBe("full");
    free();
    await open(path);
  });
});
