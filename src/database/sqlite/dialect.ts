import type SQLite from "better-sqlite3";
import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";

/**
 * Kysely's SQLite dialect with transactions that take the write lock at once, migrations included.
 * A deferred transaction would fail when another process writes after its first read
 * (SQLITE_BUSY_SNAPSHOT).
 */
export function createSqliteDialect(handle: SQLite.Database): SqliteDialect {
  return new ImmediateSqliteDialect(handle);
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #handle: SQLite.Database;

  constructor(handle: SQLite.Database) {
    super({ database: handle });
    this.#handle = handle;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateSqliteDriver(this.#handle);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #handle: SQLite.Database;

  constructor(handle: SQLite.Database) {
    super({ database: keepStatements(handle) });
    this.#handle = handle;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** SQLite itself has rolled back after some failures, such as a full disk. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#handle.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** Kysely's adapter reports that SQLite cannot roll back schema changes, which it can. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Maximum number of kept statements; the least recently used one is dropped first. */
const KEPT = 100;
/** Maximum length of a kept statement, in characters: longer ones are rarely repeated. */
const LONGEST = 16_384;

/**
 * Database for Kysely with prepared statements that are reused. Kysely prepares each query again,
 * which takes longer than most queries. SQLite prepares a kept statement again when the schema has
 * changed (sqlite3_prepare_v3).
 */
export function keepStatements(handle: SQLite.Database): SqliteDatabase {
  const kept = new Map<string, SqliteStatement & { readonly busy: boolean }>();
  return {
    prepare: (sql) => {
      const known = kept.get(sql);
      // A statement under iteration is not shared.
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
