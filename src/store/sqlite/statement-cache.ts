import type { SqliteDatabase, SqliteStatement } from "kysely";
import type { SqliteHandle } from "./handle.ts";

/** Statements kept at once; the one that was used longest ago goes first. */
const KEPT = 100;
/** A longer text, in characters, is that of a query that is hardly ever asked again. */
const LONGEST = 16_384;

/**
 * The database as Kysely sees it, with statements that are prepared once and used again. Kysely
 * prepares anew for each query, which takes longer than most queries themselves. SQLite prepares a
 * kept statement anew by itself when the schema has changed (sqlite3_prepare_v3).
 */
export function keepStatements(handle: SqliteHandle): SqliteDatabase {
  const kept = new Map<string, SqliteStatement & { readonly busy: boolean }>();
  return {
    prepare: (sql) => {
      const known = kept.get(sql);
      // One that is being iterated over belongs to who iterates.
      if (known?.busy === true) return handle.prepare(sql);
      const statement = known ?? handle.prepare<unknown[]>(sql);
      if (sql.length > LONGEST) return statement;
      kept.delete(sql);
      kept.set(sql, statement);
      const [oldest] = kept.size > KEPT ? kept.keys() : [];
      if (oldest !== undefined) kept.delete(oldest);
      return statement;
    },
    close: () => {
      kept.clear();
      handle.close();
    },
  };
}
