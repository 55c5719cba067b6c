import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { Database } from "../schema.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Number of revisions in a segment of the index for the changes of a record. */
export const SEGMENT = 1_024;

/** Revisions that changed a record: one index look-up per segment of the history. */
export function revisionsOf(
  db: Db,
  { kind, key }: { readonly kind: string; readonly key: string },
) {
  return changesOf(db)
    .select("change.revision")
    .where("change.kind", "=", kind)
    .where("change.key", "=", key)
    .$asScalar();
}

/** Those of the given keys of a kind that are in the history: one look-up per key and segment. */
export function keysOf(db: Db, kind: string, keys: readonly string[]) {
  return changesOf(db)
    .select("change.key")
    .distinct()
    .where("change.kind", "=", kind)
    .where("change.key", "in", [...keys]);
}

/** The changes, segment by segment. */
function changesOf(db: Db) {
  const segmentOf = (revision: RawBuilder<unknown>) =>
    sql<number>`${revision} / ${sql.lit(SEGMENT)}`;
  const ends = db
    .selectFrom("revision as newest")
    .select(segmentOf(sql`max(newest.revision)`).as("number"))
    .select((eb) =>
      eb
        .selectFrom("revision as oldest")
        .select(segmentOf(sql`min(oldest.revision)`).as("number"))
        .as("last"),
    );
  return (
    db
      .withRecursive("segment(number, last)", (cte) =>
        ends.unionAll(
          cte
            .selectFrom("segment")
            .select((eb) => [eb("number", "-", 1).as("number"), "last"])
            .whereRef("number", ">", "last"),
        ),
      )
      // SQLite keeps the order of a cross join: the segments first, then the record in each of them.
      .selectFrom("segment")
      .crossJoin("change")
      .where((eb) => eb(segmentOf(sql.ref("change.revision")), "=", eb.ref("segment.number")))
  );
}
