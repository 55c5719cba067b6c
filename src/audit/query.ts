import { type Kysely, sql, type Transaction } from "kysely";
import { readMeta, replaceMeta, setMeta } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { START } from "../database/tables.ts";
import { auditFromRow, countForgotten, FORGOTTEN, forgottenEntry, readForgotten } from "./chain.ts";
import type {
  AuditEntry,
  AuditPosition,
  AuditRange,
  AuditRow,
  AuditStore,
  PublishedPosition,
} from "./store.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Appends entries in a transaction, as its last step, because it locks the head of the audit. */
export type AppendAudit = (
  trx: Transaction<Database>,
  entries: readonly AuditEntry[],
) => Promise<void>;

export interface AuditQueryDeps {
  readonly db: Kysely<Database>;
  readonly origin: string;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly append: AppendAudit;
  /** Locks the head of the audit, on dialects whose begin of a transaction does not. */
  readonly lock?: (trx: Transaction<Database>) => Promise<unknown>;
}

/** Creates the audit store for both dialects. */
export function createAuditStore(deps: AuditQueryDeps): AuditStore {
  const { db, origin, attempt, check, append, lock } = deps;
  const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      check?.();
      return db.transaction().execute(work);
    });
  return {
    origin,
    head: () => attempt(() => readAuditHead(db)),
    floor: () => attempt(() => readAuditFloor(db)),
    rows: (range) => attempt(() => readAuditRows(db, range)),
    append: async (entries) => {
      if (entries.length > 0) await writing((trx) => append(trx, entries));
    },
    forget: (retention, step, now) =>
      writing(async (trx) => {
        await lock?.(trx);
        const head = await readAuditHead(trx);
        const { seq: found } = await readAuditFloor(trx);
        const oldest = await trx
          .selectFrom("audit")
          .select(["seq", "time", "hash"])
          .where("seq", "<", head.seq)
          .orderBy("seq")
          .limit(step)
          .execute();
        const forgotten = countForgotten(oldest, { newest: head.seq, floor: found }, retention);
        const last = oldest[forgotten - 1];
        if (last === undefined) return 0;
        const named = await readNamedFloor(trx);
        const floor = last.seq;
        await trx.deleteFrom("audit").where("seq", "<=", floor).execute();
        await setMeta(trx, FLOOR, `${floor} ${last.hash}`);
        await append(trx, [forgottenEntry(now, { named, found, floor })]);
        return forgotten;
      }),
    published: () => attempt(() => readPublished(db)),
    publish: (last, next) =>
      writing((trx) => replaceMeta(trx, PUBLISHED, last && textOf(last), textOf(next))),
  };
}

/** Last published position, as `seq hash time`. */
const PUBLISHED = "audit_published";

export async function readPublished(db: Db): Promise<PublishedPosition | undefined> {
  const [seq, hash, time] = ((await readMeta(db, PUBLISHED)) ?? "").split(" ");
  if (hash === undefined) return undefined;
  return { seq: Number(seq), hash, time: Number(time) };
}

function textOf({ seq, hash, time }: PublishedPosition): string {
  return `${seq} ${hash} ${time}`;
}

/** Newest deleted row, as `seq hash`. */
const FLOOR = "audit_floor";

export async function readAuditFloor(db: Db): Promise<AuditPosition> {
  const [seq, hash] = ((await readMeta(db, FLOOR)) ?? "").split(" ");
  return hash === undefined ? START : { seq: Number(seq), hash };
}

/** Newest deleted row according to the last row about deletions, which is always kept. */
async function readNamedFloor(db: Db): Promise<number> {
  const { actor, method, subject } = FORGOTTEN;
  const row = await db
    .selectFrom("audit")
    .select("detail")
    .where("actor", "=", actor)
    .where("method", "=", method)
    .where("subject", "=", subject)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? 0 : readForgotten(row.detail).floor;
}

/** Newest row, or the position before the first row. */
export async function readAuditHead(db: Db): Promise<AuditPosition> {
  const row = await db
    .selectFrom("audit")
    .select(["seq", "hash"])
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? readAuditFloor(db) : row;
}

export async function readAuditRows(db: Db, range: AuditRange): Promise<readonly AuditRow[]> {
  const { after, before, limit, newestFirst } = range;
  const { actor, tokenId, methods, outcomes, subjectPart, since, until } = range;
  let query = db.selectFrom("audit").selectAll().where("seq", ">", after).where("seq", "<", before);
  if (actor !== undefined)
    query = query.where((eb) =>
      eb.or([
        eb("actor", "=", actor),
        sql<boolean>`actor like ${like(`${actor}/`, "end")} escape '!'`,
      ]),
    );
  if (tokenId !== undefined) query = query.where("token_id", "=", tokenId);
  if (methods !== undefined) query = query.where("method", "in", [...methods]);
  if (outcomes !== undefined) query = query.where("outcome", "in", [...outcomes]);
  if (subjectPart !== undefined)
    query = query.where(sql<boolean>`subject like ${like(subjectPart, "both")} escape '!'`);
  if (since !== undefined) query = query.where("time", ">=", since);
  if (until !== undefined) query = query.where("time", "<", until);
  const rows = await query
    .orderBy("seq", newestFirst ? "desc" : "asc")
    .limit(limit)
    .execute();
  return rows.map(auditFromRow);
}

/** LIKE pattern for a prefix (`end`) or a part (`both`). */
function like(text: string, open: "end" | "both"): string {
  const literal = text.replaceAll(/[!%_]/g, "!$&");
  return open === "end" ? `${literal}%` : `%${literal}%`;
}
