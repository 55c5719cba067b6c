import { Kysely } from "kysely";
import { StoreError } from "../../database/error.ts";
import { migrate } from "../../database/migrate.ts";
import type { Database } from "../../database/schema.ts";
import { createSqliteDialect } from "../../database/sqlite/dialect.ts";
import { isSqliteError, sqliteFailure } from "../../database/sqlite/failure.ts";
import { checkIntegrity, openSqlite } from "../../database/sqlite/open.ts";
import type { OpenDatabase } from "../copy.ts";
import { migrations } from "./migration.ts";

/** Opens an SQLite file to copy or check it. @throws StoreError. */
export async function openSqliteDatabase(path: string): Promise<OpenDatabase> {
  const handle = await openSqlite(path, { integrityCheck: "off" });
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (isSqliteError(error)) throw sqliteFailure(error, path);
      throw error;
    }
  };
  const database: OpenDatabase = {
    place: path,
    db,
    // Transactions of the dialect hold the write lock.
    frozen: (work) => explained(() => db.transaction().execute(work)),
    finish: async () => undefined,
    damage: async () => {
      try {
        checkIntegrity(handle, path, { isWhole: true, notify: () => undefined });
        return [];
      } catch (error) {
        if (error instanceof StoreError) return [error.message];
        throw error;
      }
    },
    close: () => db.destroy(),
  };
  try {
    await explained(() => migrate(db, path, migrations));
    return database;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
