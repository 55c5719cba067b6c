/** A store, or a bare connection, in a separate process: see ./process.ts. */
import SQLite from "better-sqlite3";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { setting } from "../sample.ts";
import { say, serve } from "../served.ts";

let store: LedgerStore;
let bare: SQLite.Database;

/** Writes one further revision and returns its number. */
async function increment(key: string): Promise<number> {
  return store.transact(async (trx) => {
    const revision = (await trx.revision()) + 1;
    await trx.write(setting(revision, { [key]: String(revision) }));
    return revision;
  });
}

serve({
  open: async (path: string) => {
    store = await openSqliteStore(path);
    return store.databaseId;
  },
  dropRights: async () => {
    // Loads all modules: another user may not be able to read the checkout.
    await (await openSqliteStore(":memory:")).close();
    process.setuid?.(65_534);
  },
  load: () => store.load(),
  close: () => store.close(),
  changedElsewhere: () => store.changedElsewhere(),
  increment,
  incrementOften: async (key: string, count: number) => {
    const made: number[] = [];
    while (made.length < count) made.push(await increment(key));
    return made;
  },
  /** Reports each revision as soon as it is acknowledged, endlessly. */
  incrementForever: async (key: string) => {
    for (;;) say(await increment(key));
  },
  /** Like another program: acquires a lock of the file and keeps it. */
  lock: (path: string, statement: string) => {
    bare = new SQLite(path);
    bare.exec(statement);
  },
  release: (statement: string) => bare.exec(statement),
  releaseLater: (statement: string, wait: number) => {
    setTimeout(() => bare.exec(statement), wait);
  },
});
