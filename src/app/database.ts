import { existsSync } from "node:fs";
import type { Databases } from "../cli/world.ts";
import type { Config } from "../config/config.ts";
import { type Database, databaseName, inMemory } from "../config/database.ts";
import type { Notify } from "../database/error.ts";
import { checkRows } from "../store/check.ts";
import { copyRows, type OpenDatabase } from "../store/copy.ts";
import type { Store } from "../store/stores.ts";

/**
 * Opens the database of a configuration; the code of other databases is not loaded.
 *
 * @throws StoreError with a message for the operator.
 */
export async function openStore(
  { database, integrityCheck }: Pick<Config, "database" | "integrityCheck">,
  notify: Notify,
): Promise<Store> {
  if (database.dialect === "sqlite") {
    const { openSqliteStore } = await import("../store/sqlite/store.ts");
    return openSqliteStore(database.filename, { integrityCheck, notify });
  }
  const { postgresServer } = await import("../database/postgres/server.ts");
  const { openPostgresStore } = await import("../store/postgres/store.ts");
  return openPostgresStore(postgresServer(database.url, database.place), { notify });
}

/**
 * Like openStore, for commands: the database must exist, and its pages are checked only on request.
 *
 * @throws Error like openStore.
 */
export async function openExistingStore(config: Config): Promise<Store> {
  const { database } = config;
  if (
    database.dialect === "sqlite" &&
    database.filename !== inMemory &&
    !existsSync(database.filename)
  )
    throw new Error(
      `there is no database at ${databaseName(database)}: name the one of the service (--database, MOORING_DATABASE_URL or MOORING_DATA_DIR)`,
    );
  const integrityCheck = config.integrityCheck === "always" ? "always" : "off";
  return openStore({ database, integrityCheck }, () => undefined);
}

/** Copies and checks databases, for the command `database`. */
export const databases: Databases = {
  copy: async (from, to, options) => {
    const source = await openDatabase(from);
    try {
      const target = await openDatabase(to);
      try {
        return await copyRows(source, target, options);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  },
  check: async (database) => {
    const opened = await openDatabase(database);
    try {
      return await checkRows(opened);
    } finally {
      await opened.close();
    }
  },
};

/** Opens the tables of a database, without stores. */
async function openDatabase(database: Database): Promise<OpenDatabase> {
  if (database.dialect === "sqlite") {
    const { openSqliteDatabase } = await import("../store/sqlite/database.ts");
    return openSqliteDatabase(database.filename);
  }
  const { postgresServer } = await import("../database/postgres/server.ts");
  const { openPostgresDatabase } = await import("../store/postgres/database.ts");
  return openPostgresDatabase(postgresServer(database.url, database.place));
}
