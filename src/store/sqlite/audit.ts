import { chain } from "../audit-chain.ts";
import { type AppendAudit, readAuditHead } from "../audit-query.ts";

/** Rows of one insert: SQLite has a limit of parameters. */
const BATCH = 500;

/** Adds to the audit in a transaction, which holds the write lock: nobody else does meanwhile. */
export const appendAudit: AppendAudit = async (trx, entries) => {
  if (entries.length === 0) return;
  const rows = chain(await readAuditHead(trx), entries);
  for (let at = 0; at < rows.length; at += BATCH)
    await trx
      .insertInto("audit")
      .values(rows.slice(at, at + BATCH))
      .execute();
};
