import type { Transaction } from "kysely";
import { createVerifier } from "../audit/chain.ts";
import { readAuditFloor, readAuditRows, readPublished } from "../audit/query.ts";
import type { Database } from "../database/schema.ts";
import { newestRevision } from "../ledger/query.ts";
import type { OpenDatabase } from "./copy.ts";

/** Maximum number of reported problems of one kind. */
const NAMED = 10;

/**
 * Checks a database: its pages, as far as the dialect can, the agreement of records and history, and
 * the chain of the audit.
 *
 * @returns problems, one sentence each; empty: none found.
 */
export async function checkRows(database: OpenDatabase): Promise<readonly string[]> {
  const damage = await database.damage();
  // Content of damaged pages is meaningless.
  if (damage.length > 0) return damage;
  return database.frozen(async (trx) => {
    const problems: string[] = [];
    const range = await trx
      .selectFrom("revision")
      .select((eb) => [
        eb.fn.min("revision").as("first"),
        eb.fn.max("revision").as("last"),
        eb.fn.countAll<number>().as("count"),
      ])
      .executeTakeFirstOrThrow();
    const { first, last, count } = range;
    if (count > 0 && last - first + 1 !== count)
      problems.push(`the history has gaps: ${count} revisions from ${first} to ${last}`);
    const lost = await trx
      .selectFrom("change")
      .select(["change.revision", "change.kind", "change.key"])
      .where("change.revision", "not in", (eb) =>
        eb.selectFrom("revision").select("revision.revision"),
      )
      .orderBy("change.revision")
      .limit(NAMED)
      .execute();
    for (const { kind, key, revision } of lost)
      problems.push(
        `a change of the ${kind} ${key} belongs to revision ${revision}, which is missing`,
      );
    const later = await trx
      .selectFrom("record")
      .select(["kind", "key", "revision"])
      .where("revision", ">", (eb) => newestRevision(trx).$asScalar() ?? eb.lit(0))
      .limit(NAMED)
      .execute();
    for (const { kind, key, revision } of later)
      problems.push(
        `the ${kind} ${key} has revision ${revision}, which is newer than the last revision of the history`,
      );
    const others = await trx
      .selectFrom("record")
      .innerJoin("change", (join) =>
        join
          .onRef("change.kind", "=", "record.kind")
          .onRef("change.key", "=", "record.key")
          .onRef("change.revision", "=", "record.revision"),
      )
      .select(["record.kind", "record.key", "record.revision"])
      .whereRef("change.new_body", "<>", "record.body")
      .limit(NAMED)
      .execute();
    for (const { kind, key, revision } of others)
      problems.push(
        `the value of the ${kind} ${key} differs from the value in revision ${revision}`,
      );
    const audit = await checkAudit(trx);
    if (audit !== undefined) problems.push(`the audit is damaged: ${audit}`);
    return problems;
  });
}

/** Rows of the audit per query. */
const PAGE = 1_000;

/** @returns the first problem of the audit. */
async function checkAudit(trx: Transaction<Database>): Promise<string | undefined> {
  const floor = await readAuditFloor(trx);
  const published = await readPublished(trx);
  // A deleted row proves nothing.
  const isKept = published !== undefined && published.seq >= floor.seq;
  const verifier = createVerifier(floor, isKept ? published : undefined);
  for (let after = -1; ; ) {
    const range = { after, before: Number.MAX_SAFE_INTEGER, limit: PAGE, newestFirst: false };
    const rows = await readAuditRows(trx, range);
    for (const row of rows) {
      const problem = verifier.add(row);
      if (problem !== undefined) return problem;
      after = row.seq;
    }
    if (rows.length < PAGE) return verifier.end();
  }
}
