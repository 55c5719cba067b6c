import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import SQLite from "better-sqlite3";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { SqliteOptions } from "../../../src/database/sqlite/open.ts";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../folder.ts";
import { setting } from "../sample.ts";

const newPath = temporaryPaths();

async function open(path: string, options?: SqliteOptions): Promise<LedgerStore> {
  const store = await openSqliteStore(path, options);
  onTestFinished(() => store.close());
  return store;
}

/** A store with one setting at revision 1, and its log. */
async function opened(path = newPath()) {
  const logged: string[] = [];
  const store = await open(path, {
    notify: (level, message) => logged.push(`${level}: ${message}`),
  });
  if ((await store.load()).revision === 0)
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
  return { path, store, logged };
}

const save = (store: LedgerStore) => store.transact((trx) => trx.write(setting(2, { a: "2" })));

function modesBeside(path: string): string[] {
  const folder = dirname(path);
  return readdirSync(folder)
    .sort()
    .map((file) => `${file} ${(statSync(join(folder, file)).mode & 0o777).toString(8)}`);
}

describe("the files of a database", () => {
  const umask = process.umask();
  afterEach(() => void process.umask(umask));

  const PRIVATE = ["mooring.db 600", "mooring.db-shm 600", "mooring.db-wal 600"];

  test("have mode 0600, for any folder and umask", async () => {
    const path = newPath();
    chmodSync(dirname(path), 0o777);
    process.umask(0);
    const { logged } = await opened(path);
    expect(modesBeside(path)).toEqual(PRIVATE);
    expect(logged).toEqual([]);
  });

  test("with permissions for other users are restricted, which is logged", async () => {
    const { path, store } = await opened();
    await store.close();
    chmodSync(path, 0o664);
    // The state after a kill of the process.
    const left = new SQLite(path);
    left.exec("create table more (a)");
    const copy = newPath();
    for (const suffix of ["", "-wal"]) {
      copyFileSync(path + suffix, copy + suffix);
      chmodSync(copy + suffix, 0o664);
    }
    left.close();
    const { logged } = await opened(copy);
    expect(modesBeside(copy)).toEqual(PRIVATE);
    expect(logged).toContain(`warn: removed permissions of other users on ${copy} (mode 664)`);
  });

  test("are found beside the target of a link", async () => {
    const { path, store } = await opened();
    await store.close();
    const link = join(dirname(newPath()), "link.db");
    symlinkSync(path, link);
    const again = await opened(link);
    expect(modesBeside(path)).toEqual(PRIVATE);
    await save(again.store);
  });
});

describe("missing database files", () => {
  test.each(["", "-wal", "-shm"])(
    "after mooring.db%s was deleted: saves are refused, the log has the reason, reads continue",
    async (suffix) => {
      const { path, store, logged } = await opened();
      rmSync(path + suffix);
      await expect.poll(() => logged).toHaveLength(1);
      expect(logged[0]).toMatch(
        /^error: .* was deleted while the service used it: saves are refused/,
      );
      await expect(save(store)).rejects.toThrow(
        `${path}${suffix} was deleted while the service used it; stop the service, put the files back`,
      );
      await expect(store.rewrite(() => ({ records: [], audit: [] }))).rejects.toThrow(
        "was deleted",
      );
      await expect(store.compact({ count: 1, notBefore: 0 }, 1)).rejects.toThrow("was deleted");
      await expect(store.tryAcquireJobSlot("sweep", 1, 5)).rejects.toThrow("was deleted");
      expect(await store.load()).toMatchObject({ revision: 1 });
      expect(logged).toHaveLength(1);
    },
  );

  test("or replaced ones are detected by the next save, and the replacement is unchanged", async () => {
    const { path, store } = await opened();
    const other = await opened();
    await save(other.store);
    for (const suffix of ["", "-wal", "-shm"]) {
      renameSync(path + suffix, `${path}${suffix}.old`);
      copyFileSync(other.path + suffix, path + suffix);
    }
    const before = ["", "-wal"].map((suffix) => readFileSync(path + suffix));
    await expect(save(store)).rejects.toThrow(`${path} was replaced while the service used it`);
    await store.close();
    expect(["", "-wal"].map((suffix) => readFileSync(path + suffix))).toEqual(before);
  });

  test("that are restored are used again", async () => {
    const { path, store, logged } = await opened();
    renameSync(path, `${path}.away`);
    await expect(save(store)).rejects.toThrow("was deleted");
    renameSync(`${path}.away`, path);
    await save(store);
    expect(logged.at(-1)).toMatch(/^info: .* were restored/);
  });
});

describe("after an unclean stop", () => {
  /** A database with its log, in the state after a kill of the process. */
  async function killed(): Promise<string> {
    const path = newPath();
    const store = await openSqliteStore(path);
    const values = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`key${at}`, "v".repeat(100)]),
    );
    await store.transact((trx) => trx.write(setting(1, values)));
    await store.close();
    const handle = await openSqliteStore(path);
    await save(handle);
    const left = newPath();
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, left + suffix);
    await handle.close();
    return left;
  }

  /** Overwrites a page of the settings' table. */
  function damage(path: string): void {
    const handle = new SQLite(path, { readonly: true });
    const page = handle.prepare("select rootpage from sqlite_schema where name = 'record'").pluck();
    const root = Number(page.get());
    handle.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, (root - 1) * 4_096 + 200, root * 4_096);
    writeFileSync(path, bytes);
  }

  test("all pages are checked, which is logged", async () => {
    const { logged } = await opened(await killed());
    expect(logged).toEqual([
      expect.stringMatching(/^info: .* was checked and is intact \(\d+ ms\)/),
    ]);
  });

  test("a damaged page is reported with the remedy", async () => {
    const path = await killed();
    damage(path);
    await expect(open(path)).rejects.toThrow(
      /is damaged \(table record: .*\): restore it from a backup, or set MOORING_INTEGRITY_CHECK=off/,
    );
  });

  test("nothing is checked with never; with always everything is, after any stop", async () => {
    const { path, store } = await opened();
    const logged: string[] = [];
    const notify: SqliteOptions["notify"] = (_, message) => logged.push(message);
    await store.close();
    await (await openSqliteStore(path, { notify })).close();
    expect(logged).toEqual([]);
    await (await openSqliteStore(path, { notify, integrityCheck: "always" })).close();
    expect(logged).toEqual([expect.stringContaining("was checked and is intact")]);
    await open(await killed(), { notify, integrityCheck: "off" });
    expect(logged).toHaveLength(1);
  });
});
