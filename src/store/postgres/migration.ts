import { Kysely, sql, type Transaction } from "kysely";
import { type Notify, StoreError } from "../../database/error.ts";
import { type Migrations, migrate } from "../../database/migrate.ts";
import { codeOf, postgresFailure } from "../../database/postgres/failure.ts";
import type { PostgresServer } from "../../database/postgres/server.ts";
import type { Database } from "../../database/schema.ts";
import {
  createAccess,
  createAudit,
  createDays,
  createIncidents,
  createLedger,
  createRecordStates,
  createSites,
  START,
} from "../../database/tables.ts";

/**
 * Migration steps. Released steps are never edited; a schema change is a new step at the end. No step
 * is released yet: until then a change edits the first one.
 */
export const migrations: Migrations = {
  "0001_first_schema": { up: createTables },
};

/** Text compared byte by byte, as in SQLite and JavaScript. */
const TEXT = sql`text collate "C"`;

async function createTables(db: Kysely<unknown>): Promise<void> {
  await createLedger(db, {
    key: TEXT,
    number: "bigint",
    indexHistory: (db) =>
      db.schema
        .createIndex("change_record")
        .on("change")
        .columns(["kind", "key", "revision"])
        .execute(),
  });
  await createSites(db);
  await createAccess(db);
  await createAudit(db, "bigint");
  await createRecordStates(db);
  await createIncidents(db);
  await createDays(db);
  await createHeads(db);
  await createInstances(db);
}

/** Tables of one row each; a transaction that holds the row's lock is the only one that numbers. */
async function createHeads(db: Kysely<unknown>): Promise<void> {
  // Writing a revision holds the lock of its row, so that numbers become visible in order.
  await db.schema
    .createTable("head")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("revision", "bigint", (c) => c.notNull())
    .execute();
  await sql`insert into head (id, revision) values (1, 0)`.execute(db);
  // Appending to the audit holds the lock of its row, so that several instances write one chain.
  await db.schema
    .createTable("audit_head")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("seq", "bigint", (c) => c.notNull())
    .addColumn("hash", "text", (c) => c.notNull())
    .execute();
  await sql`insert into audit_head (id, seq, hash) values (1, ${sql.lit(START.seq)}, ${sql.lit(START.hash)})`.execute(
    db,
  );
}

/**
 * Running instances, and the changes that each has read: a revocation waits for `seen_access`.
 * Unlogged: a crash of the server empties the table, and the wait of a revocation accounts for that.
 */
async function createInstances(db: Kysely<unknown>): Promise<void> {
  await sql`create unlogged table instance (
    id text primary key,
    seen_revision bigint not null,
    seen_access bigint not null default 0,
    lease_until timestamptz not null
  )`.execute(db);
}

/**
 * Migrates the schema on the primary. A step, here or on another instance, may take minutes.
 *
 * @param notify called when it waits for another instance.
 * @throws StoreError; the error of the server or the driver.
 */
export async function prepare(server: PostgresServer, notify: Notify): Promise<void> {
  const { place } = server;
  let first: unknown;
  const db = new Kysely<Database>({
    dialect: server.patient,
    log: ({ level, ...event }) => {
      if (level === "error" && "error" in event) first ??= event.error;
    },
  });
  try {
    await refuseUnfit(db, place);
    await migrate(db, place, migrations, (trx) => lockSchema(trx, place, notify));
  } catch (error) {
    // After a failure the migrator continues, and reports only the end of its transaction.
    throw explained(codeOf(error) === ABORTED ? first : error, place);
  } finally {
    await db.destroy();
  }
}

const ABORTED = "25P02";

function explained(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || codeOf(error) !== TAKEN) return error;
  return unusable(
    `the database ${place} has tables of another program (${error.message}): create a database for Mooring only`,
    error,
  );
}

/** SQLSTATE duplicate_table: the table was not created by a step of Mooring. */
const TAKEN = "42P07";

function unusable(message: string, cause?: unknown): StoreError {
  return new StoreError("unusable", message, cause);
}

/** Refuses a standby, which accepts no writes, and encodings other than UTF-8, which lack characters. */
async function refuseUnfit(db: Kysely<Database>, place: string): Promise<void> {
  const { rows } = await sql<{ standby: boolean; encoding: string }>`select
    pg_is_in_recovery() as standby, current_setting('server_encoding') as encoding`.execute(db);
  const { standby = false, encoding = "UTF8" } = rows[0] ?? {};
  if (standby)
    throw postgresFailure(Object.assign(new Error("read-only"), { code: "25006" }), place);
  if (encoding !== "UTF8")
    throw unusable(
      `the database ${place} has the encoding ${encoding}: create one with UTF8 (createdb --encoding UTF8 --template template0)`,
    );
}

/** Key of the advisory lock of migrations: "Moor" in ASCII. */
const SCHEMA_LOCK = 0x4d6f6f72;

/** Locks before Kysely creates its migration tables, which fails in two processes at a time. */
async function lockSchema(
  transaction: Transaction<Database>,
  place: string,
  notify: Notify,
): Promise<void> {
  const number = sql.lit(SCHEMA_LOCK);
  const { rows: tried } = await sql<{
    taken: boolean;
  }>`select pg_try_advisory_xact_lock(${number}) as taken`.execute(transaction);
  if (tried[0]?.taken !== true) {
    notify("info", `another instance is migrating the database ${place}: waiting for it`);
    await sql`select pg_advisory_xact_lock(${number})`.execute(transaction);
  }
  const { rows } = await sql<{ can: boolean }>`select to_regclass('migration') is not null
    or has_schema_privilege(current_schema(), 'CREATE') as can`.execute(transaction);
  // The migrator's error would not name the reason.
  if (rows[0]?.can !== true)
    throw unusable(
      `the database ${place} does not permit this operation to this user: grant it CREATE on the schema, or let its owner start Mooring once`,
    );
}

/** Reports whether an error comes from the database or the driver, not from the work of a caller. */
export function isOfDatabase(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error || error.name === "DatabaseError" || error.name === "error") return true;
  // The driver and its pool report connection failures as plain errors.
  return /connect|timeout|terminated|Client|pool|driver has already been destroyed/i.test(
    error.message,
  );
}
