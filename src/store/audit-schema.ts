import type { Selectable } from "kysely";

/** What somebody did, or was refused. Rows are added, and forgotten from the oldest on. */
export interface AuditTable {
  /** From 1 on, without gaps. */
  seq: number;
  /** Milliseconds since 1970 UTC. */
  time: number;
  actor: string;
  token_id: string;
  door: string;
  method: string;
  peer: string;
  request_id: string;
  outcome: string;
  /** Names, a line each. */
  subject: string;
  /** A JSON object. */
  detail: string;
  /** SHA-256 of the row before and of this one, in hexadecimal. */
  prev: string;
  hash: string;
}

/** One row: the newest of the audit. Its lock orders the rows of several instances; SQLite needs none. */
export interface AuditHeadTable {
  id: number;
  seq: number;
  hash: string;
}

/** The tables of the audit. */
export interface AuditDatabase {
  audit: AuditTable;
  audit_head: AuditHeadTable;
}

export type StoredAuditRow = Selectable<AuditTable>;
