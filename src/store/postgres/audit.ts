import { CompiledQuery } from "kysely";
import { tailOf, toUnchained, type UnchainedRow } from "../../audit/chain.ts";
import type { AppendAudit } from "../../audit/query.ts";
import type { AuditEntry } from "../../audit/store.ts";

const ROW = {
  time: "bigint",
  actor: "text",
  token_id: "text",
  transport: "text",
  method: "text",
  peer: "text",
  request_id: "text",
  outcome: "text",
  subject: "text",
  detail: "text",
} as const satisfies Record<keyof UnchainedRow, string>;

const NAMES = Object.keys(ROW) as readonly (keyof UnchainedRow)[];

/** Parameters of entries: an array for each column, and one of the canonical encodings. */
export function auditParameters(entries: readonly AuditEntry[]): unknown[][] {
  const rows = entries.map(toUnchained);
  return [...NAMES.map((name) => rows.map((row) => row[name])), rows.map(tailOf)];
}

/**
 * Part of a `with recursive` that appends entries to the audit. The hashes (as `hashOf`) are calculated
 * here, because the previous row is known only under the lock of the head.
 *
 * @param first number of the first parameter.
 * @param condition table of the statement; nothing is appended if it has no rows. Empty: no condition.
 */
export function auditParts(first: number, condition: string): string {
  const tails = `$${first + NAMES.length}::text[]`;
  const arrays = Object.values(ROW).map((type, at) => `$${first + at}::${type}[]`);
  const names = NAMES.join(", ");
  return `locked as (
  select a.seq, a.hash from audit_head as a${condition === "" ? "" : `, ${condition}`}
  where a.id = 1 and cardinality(${tails}) > 0 for update of a
), chain (n, seq, prev, hash) as (
  select 0, seq, hash, hash from locked
  union all
  select n + 1, seq + 1, hash,
    encode(sha256(convert_to('[' || (seq + 1) || ',"' || hash || '",' || (${tails})[n + 1], 'UTF8')), 'hex')
  from chain where n < cardinality(${tails})
), audited as (
  insert into audit (seq, ${names}, prev, hash)
  select chain.seq, ${NAMES.map((name) => `x.${name}`).join(", ")}, chain.prev, chain.hash
  from chain join unnest(${arrays.join(", ")}) with ordinality as x(${names}, n) on x.n = chain.n
), headed as (
  update audit_head set seq = chain.seq, hash = chain.hash from chain
  where audit_head.id = 1 and chain.n = cardinality(${tails})
)`;
}

const APPEND = `with recursive ${auditParts(1, "")} select from locked`;

/** Appends to the audit, as the last step of a transaction. */
export const appendAudit: AppendAudit = async (trx, entries) => {
  if (entries.length === 0) return;
  await trx.executeQuery(CompiledQuery.raw(APPEND, auditParameters(entries)));
};
