import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import type { LockRows } from "../database/row-lock.ts";
import type { Database } from "../database/schema.ts";

export interface IncidentQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly append: AppendAudit;
  readonly lockRows: LockRows;
}

/** Transactions and reads of the tables of incidents. */
export interface IncidentTables
  extends Pick<IncidentQueryDeps, "db" | "attempt" | "append" | "lockRows"> {
  /** Runs a write transaction, possibly repeatedly. */
  readonly writing: <T>(work: (trx: Transaction<Database>) => Promise<T>) => Promise<T>;
}
