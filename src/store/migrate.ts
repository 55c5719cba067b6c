import type { Kysely, Transaction } from "kysely";
import { Migrator } from "kysely/migration";
import { StoreError } from "./error.ts";
import { migrations } from "./migration.ts";
import type { Database } from "./schema.ts";

/**
 * Brings the schema up to date, inside a transaction that takes the write lock first, so that two
 * processes may start at once.
 *
 * @throws StoreError when a newer program has written the database, or a step fails.
 */
export async function migrate(db: Kysely<Database>, place: string): Promise<void> {
  const error = await db
    .transaction()
    .execute(run)
    .catch((failure: unknown) => failure);
  if (error === undefined) return;
  if (error instanceof Error && error.message.includes("previously executed migration"))
    throw new StoreError(
      "unusable",
      `the database ${place} was written by a newer Mooring than this one: update this program, or use another database`,
      error,
    );
  throw StoreError.fromSqlite(error, place);
}

/** The migrator is handed the transaction: one of its own would begin after it has looked. */
async function run(transaction: Transaction<Database>): Promise<void> {
  const migrator = new Migrator({
    db: transaction,
    provider: { getMigrations: async () => migrations },
    migrationTableName: "migration",
    migrationLockTableName: "migration_lock",
  });
  const { error } = await migrator.migrateToLatest();
  // Thrown, it rolls back.
  if (error !== undefined) throw error;
}
