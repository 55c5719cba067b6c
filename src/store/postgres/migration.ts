import { type Kysely, sql } from "kysely";
import { nameFloor } from "../../audit/query.ts";
import type { Migrations } from "../../database/migrate.ts";
import {
  addEnded,
  createAccess,
  createAudit,
  createIncidents,
  createMountStates,
  createSettings,
  createSites,
  START,
} from "../../database/tables.ts";
import { appendAudit } from "./audit.ts";

/** Migration steps. Released steps are never edited; a schema change is a new step at the end. */
export const migrations: Migrations = {
  "0001_settings_with_history": { up: createTables },
  "0002_sites": { up: createSites },
  "0003_access": { up: createAccess },
  "0004_seen_access": { up: seeAccess },
  "0005_audit": { up: createChain },
  "0006_ended_tokens": { up: addEnded },
  "0007_forgotten_rows_named": { up: (db) => nameFloor(db, appendAudit) },
  "0008_mount_states": { up: createMountStates },
  "0009_incidents": { up: createIncidents },
};

/** Text compared byte by byte, as in SQLite and JavaScript. */
const TEXT = sql`text collate "C"`;

async function createTables(db: Kysely<unknown>): Promise<void> {
  await createSettings(db, { key: TEXT, number: "bigint" });
  // One row: writing a revision holds its lock, so that numbers become visible in order.
  await db.schema
    .createTable("head")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("revision", "bigint", (c) => c.notNull())
    .execute();
  await sql`insert into head (id, revision) values (1, 0)`.execute(db);
  // Unlogged: a crash of the server empties it, and the wait of a revocation accounts for that.
  await sql`create unlogged table instance (
    id text primary key,
    seen_revision bigint not null,
    lease_until timestamptz not null
  )`.execute(db);
}

/** Column by which instances confirm changes of access; a revocation waits for it. */
async function seeAccess(db: Kysely<unknown>): Promise<void> {
  await sql`alter table instance add column seen_access bigint not null default 0`.execute(db);
}

/**
 * Table of one row; appending to the audit holds its lock, so that several instances write one chain.
 */
async function createChain(db: Kysely<unknown>): Promise<void> {
  await createAudit(db, "bigint");
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
