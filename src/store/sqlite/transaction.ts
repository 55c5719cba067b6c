import type { Kysely } from "kysely";
import { readAuditHead } from "../audit-query.ts";
import type { Database } from "../schema.ts";
import { newestRevision, readDelta, readState } from "../setting-query.ts";
import type { SettingTransaction } from "../setting-store.ts";
import type { SqliteHandle } from "./handle.ts";
import { createRowWriter } from "./row-writer.ts";

/** Runs work in a transaction; rejects with what the work or SQLite throws. */
export type Transact = <T>(work: (transaction: SettingTransaction) => Promise<T>) => Promise<T>;

/**
 * Makes what runs the transactions of saves. They take the write lock at once, as those of the
 * dialect do, and what every save asks and writes is prepared here, once.
 */
export function createTransact(handle: SqliteHandle, db: Kysely<Database>): Transact {
  const begin = handle.prepare("begin immediate");
  const commit = handle.prepare("commit");
  const newest = handle.prepare<[], number | null>(newestRevision(db).compile().sql).pluck();
  const writeRows = createRowWriter(handle, db);
  // Kysely lends its one connection: no other query runs until the transaction is over.
  return (work) =>
    db.connection().execute(async (connection) => {
      begin.run();
      try {
        const result = await work({
          revision: async () => newest.get() ?? 0,
          delta: (after) => readDelta(connection, after),
          load: () => readState(connection),
          write: (rows) => writeRows(rows, () => readAuditHead(connection)),
        });
        commit.run();
        return result;
      } catch (error) {
        // SQLite itself has rolled back after some failures, such as a full disk.
        if (handle.inTransaction) handle.exec("rollback");
        throw error;
      }
    });
}
