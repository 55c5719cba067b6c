import type SQLite from "better-sqlite3";
import type { Kysely, Transaction } from "kysely";
import { StoreError } from "../../database/error.ts";
import { lastRewrite, unmarkRewrite } from "../../database/meta-query.ts";
import type { Database } from "../../database/schema.ts";
import { hasOtherHashes, rehashRows } from "../../ledger/history-query.ts";
import { rewriteRecords } from "../../ledger/query.ts";
import { HASHED_STATES } from "../hashed-states.ts";
import type { Store } from "../stores.ts";
import { appendAudit } from "./transaction.ts";

export interface RewriteDeps {
  readonly handle: SQLite.Database;
  readonly db: Kysely<Database>;
  /** Path of the file, for messages. */
  readonly path: string;
  readonly attempt: <T>(work: () => T | Promise<T>) => Promise<T>;
  readonly write: <T>(work: (trx: Transaction<Database>) => Promise<T>) => Promise<T>;
}

/** Changes of stored values when secrets are sealed, or sealed with another key. */
export function createRewrites({
  handle,
  db,
  path,
  attempt,
  write,
}: RewriteDeps): Pick<Store, "rewrite" | "rehash" | "eraseReplaced"> {
  return {
    rewrite: (change) => write((trx) => rewriteRecords(trx, change, appendAudit)),
    rehash: async (rehash) => {
      if (!(await attempt(() => hasOtherHashes(db, rehash, HASHED_STATES)))) return 0;
      return write((trx) =>
        rehashRows(trx, rehash, { append: appendAudit, tables: HASHED_STATES }),
      );
    },
    eraseReplaced: async () => {
      const rewrite = await attempt(() => lastRewrite(db));
      if (rewrite === undefined) return undefined;
      try {
        // On the only connection, so that no transaction is open.
        await attempt(() => db.connection().execute(async () => truncateLog(handle, path)));
      } catch (error) {
        if (error instanceof StoreError) return error.message;
        throw error;
      }
      await write((trx) => unmarkRewrite(trx, rewrite));
      return undefined;
    },
  };
}

/**
 * Checkpoints and truncates the write-ahead log, which contains replaced values until then.
 *
 * @throws StoreError while a reader uses an older state in it.
 */
function truncateLog(handle: SQLite.Database, path: string): void {
  const [result] = handle.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
  if (result?.busy !== 0)
    throw new StoreError(
      "busy",
      `another program reads an older state of the database ${path} (a backup, a database browser), so that ${path}-wal keeps it: end that program`,
    );
}
