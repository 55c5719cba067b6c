import { type Kysely, sql, type Transaction } from "kysely";
import type { ChangeRow, Database, RevisionRow, SettingRow } from "../../database/schema.ts";
import { MAX_COMMITS } from "../../settings/query.ts";
import { changeFromRow, revisionFromRow, settingFromRow } from "../../settings/row.ts";
import type { StoredDelta } from "../../settings/store.ts";

/** Result row: content of the tables as JSON. */
interface Answer {
  readonly revision: number;
  readonly oldest: number;
  readonly changed: readonly SettingRow[];
  readonly deleted: readonly string[];
  readonly revisions: readonly RevisionRow[] | null;
  readonly changes: readonly ChangeRow[] | null;
}

/**
 * Reads the commits after a revision in one statement: one snapshot and one round trip, because every
 * instance reads them after every save of another.
 */
export async function readDeltaAtOnce(
  db: Kysely<Database> | Transaction<Database>,
  after: number,
): Promise<StoredDelta | undefined> {
  const { rows } = await sql<Answer>`with ends as (
      select coalesce(max(revision), 0) as newest, coalesce(min(revision), 0) as oldest
      from revision
    ), touched as (
      select distinct key from change where revision > ${after}
    )
    select newest as revision, oldest,
      (select coalesce(json_agg(s order by s.position, s.key), '[]') from setting as s
        where s.key in (select key from touched)) as changed,
      (select coalesce(json_agg(key), '[]') from touched
        where key not in (select key from setting)) as deleted,
      case when newest - ${after} <= ${MAX_COMMITS} then
        (select coalesce(json_agg(r order by r.revision), '[]') from revision as r
          where r.revision > ${after}) end as revisions,
      case when newest - ${after} <= ${MAX_COMMITS} then
        (select coalesce(json_agg(c order by c.revision, c.key), '[]') from change as c
          where c.revision > ${after}) end as changes
    from ends`.execute(db);
  const [answer] = rows;
  if (answer === undefined) return undefined;
  const { revision, oldest } = answer;
  if (revision < after || after + 1 < oldest) return undefined;
  return {
    revision,
    changed: answer.changed.map(settingFromRow),
    deleted: answer.deleted,
    commits: commitsOf(answer),
  };
}

function commitsOf({ revisions, changes }: Answer): StoredDelta["commits"] {
  if (revisions === null) return undefined;
  const byRevision = Map.groupBy(changes ?? [], (change) => change.revision);
  return revisions.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(row.revision) ?? []).map(changeFromRow),
  }));
}
