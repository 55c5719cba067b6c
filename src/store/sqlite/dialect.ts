import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
} from "kysely";
import type { SqliteHandle } from "./handle.ts";
import { keepStatements } from "./statement-cache.ts";

/**
 * Kysely's SQLite dialect with transactions that take the write lock at once, migrations included. A
 * deferred one would read first and fail when another process writes in between
 * (SQLITE_BUSY_SNAPSHOT).
 */
export function createSqliteDialect(handle: SqliteHandle): SqliteDialect {
  return new ImmediateSqliteDialect(handle);
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #handle: SqliteHandle;

  constructor(handle: SqliteHandle) {
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
  readonly #handle: SqliteHandle;

  constructor(handle: SqliteHandle) {
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

/** Kysely's own says that SQLite cannot roll back changes of the schema, which it can. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
