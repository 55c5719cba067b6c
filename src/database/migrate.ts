import type { Kysely, Transaction } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { StoreError } from "./error.ts";
import type { Database } from "./schema.ts";

/** Migration steps, applied in the order of their names. */
export type Migrations = Readonly<Record<string, Migration>>;

/**
 * Migrates the schema in one transaction; several processes may start at once.
 *
 * @param lock acquires mutual exclusion where the begin of a transaction does not.
 * @throws StoreError when a newer program has written the database; else the error of the database.
 */
export async function migrate(
  db: Kysely<Database>,
  place: string,
  migrations: Migrations,
  lock?: (transaction: Transaction<Database>) => Promise<unknown>,
): Promise<void> {
  try {
    await db.transaction().execute(async (transaction) => {
      await lock?.(transaction);
      await run(transaction, migrations);
    });
  } catch (error) {
    if (!(error instanceof Error && error.message.includes("previously executed migration")))
      throw error;
    throw new StoreError(
      "unusable",
      `the database ${place} was written by a newer Mooring than this one: update this program, or use another database`,
      error,
    );
  }
}

/** Runs the migrator in the given transaction: its own would begin after its first read. */
async function run(transaction: Transaction<Database>, migrations: Migrations): Promise<void> {
  const migrator = new Migrator({
    db: transaction,
    provider: { getMigrations: async () => ({ ...migrations }) },
    migrationTableName: "migration",
    migrationLockTableName: "migration_lock",
  });
  const { error } = await migrator.migrateToLatest();
  // Throwing rolls back.
  if (error !== undefined) throw error;
}
