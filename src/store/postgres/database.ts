import { Kysely, sql } from "kysely";
import { readAuditHead } from "../../audit/query.ts";
import { StoreError } from "../../database/error.ts";
import { postgresFailure } from "../../database/postgres/failure.ts";
import type { PostgresServer } from "../../database/postgres/server.ts";
import type { Database } from "../../database/schema.ts";
import type { OpenDatabase } from "../copy.ts";
import { isOfDatabase, prepare } from "./migration.ts";

/** Opens a database of a PostgreSQL server to copy or check it. @throws StoreError. */
export async function openPostgresDatabase(server: PostgresServer): Promise<OpenDatabase> {
  const { place } = server;
  const db = new Kysely<Database>({ dialect: server.patient });
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreError || !isOfDatabase(error)) throw error;
      throw postgresFailure(error, place);
    }
  };
  try {
    await explained(() => prepare(server, () => undefined));
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return {
    place,
    db,
    frozen: (work) =>
      explained(() =>
        db
          .transaction()
          .setIsolationLevel("repeatable read")
          .execute(async (trx) => {
            // A copy or a check takes longer than the time limit of a save.
            await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
            return work(trx);
          }),
      ),
    finish: async (trx, revision) => {
      await sql`update head set revision = ${revision} where id = 1`.execute(trx);
      const { seq, hash } = await readAuditHead(trx);
      await sql`update audit_head set seq = ${seq}, hash = ${hash} where id = 1`.execute(trx);
    },
    damage: async () => {
      const { rows } = await explained(() =>
        sql<{ head: number; newest: number | null; audit: boolean }>`select revision as head,
          (select max(revision) from revision) as newest,
          exists (select from audit_head as h where id = 1
            and seq = (select coalesce(max(seq), 0) from audit)
            and (seq = 0 or hash = (select hash from audit where seq = h.seq))) as audit
          from head where id = 1`.execute(db),
      );
      const [row] = rows;
      if (row === undefined) return ["the table head is empty: no save can be made"];
      const problems: string[] = [];
      if (row.head !== (row.newest ?? 0))
        problems.push(
          `the head names revision ${row.head}, but the last revision of the history is ${row.newest}`,
        );
      if (!row.audit)
        problems.push("the newest row of the audit is not the one that was written last");
      return problems;
    },
    close: () => db.destroy(),
  };
}
