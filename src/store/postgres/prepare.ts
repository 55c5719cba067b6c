import { type Kysely, sql, type Transaction } from "kysely";
import { migrate } from "../migrate.ts";
import type { Database } from "../schema.ts";
import { postgresFailure } from "./failure.ts";
import { migrations } from "./migration.ts";

/** Brings a primary's schema up to date. @throws StoreError; what the server or the driver throws. */
export async function prepare(db: Kysely<Database>, place: string): Promise<void> {
  await refuseStandby(db, place);
  await migrate(db, place, migrations, lockSchema);
}

async function refuseStandby(db: Kysely<Database>, place: string): Promise<void> {
  const { rows } = await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(
    db,
  );
  if (rows[0]?.standby !== true) return;
  throw postgresFailure(Object.assign(new Error("read-only"), { code: "25006" }), place);
}

/** "Moor" in ASCII: the number of the advisory lock that a change of the schema takes. */
const SCHEMA_LOCK = 0x4d6f6f72;

/** Kysely's own comes after it has made its tables, which two at a time can't. */
async function lockSchema(transaction: Transaction<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(SCHEMA_LOCK)})`.execute(transaction);
  const { rows } = await sql<{ can: boolean }>`select to_regclass('migration') is not null
    or has_schema_privilege(current_schema(), 'CREATE') as can`.execute(transaction);
  // The migrator would say something else.
  if (rows[0]?.can !== true) throw Object.assign(new Error("no right"), { code: "42501" });
}

/** What a caller's own work throws is not the database's. */
export function isOfDatabase(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error || error.name === "DatabaseError" || error.name === "error") return true;
  // The driver and its pool have plain errors for what happens to a connection.
  return /connect|timeout|terminated|Client|pool|driver has already been destroyed/i.test(
    error.message,
  );
}
