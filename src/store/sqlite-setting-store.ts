import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, sql, type Transaction } from "kysely";
import { StoreError } from "./error.ts";
import { migrate } from "./migrate.ts";
import type { ChangeRow, Database, RevisionRow, SettingRow } from "./schema.ts";
import type {
  RevisionCommit,
  SettingStore,
  SettingTransaction,
  StoredChange,
  StoredDelta,
  StoredSetting,
  StoredState,
  StoredWrite,
} from "./setting-store.ts";
import { createSqliteDialect, openSqlite } from "./sqlite.ts";

/** How long a write waits for the lock of another process, in milliseconds. */
const LOCK_WAIT = 5_000;
/** Rows of one statement: SQLite takes at most 32,766 parameters. */
const BATCH = 1_000;

type Db = Kysely<Database> | Transaction<Database>;

/**
 * Opens the store on an SQLite file and brings its schema up to date.
 *
 * @param path a file, or `:memory:`.
 * @throws StoreError when the file cannot be used or is newer than this program.
 */
export async function openSqliteSettingStore(path: string): Promise<SettingStore> {
  const handle = openSqlite(path);
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  try {
    await migrate(db, path);
    const databaseId = await readDatabaseId(db);
    // From here on a lock is waited for without blocking the event loop: see transact.
    handle.pragma("busy_timeout = 0");
    const dataVersion = handle.prepare<[], number>("pragma data_version").pluck();
    let seenVersion = dataVersion.get();

    const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
      const giveUp = Date.now() + LOCK_WAIT;
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (error instanceof StoreError) throw error;
          const failure = isSqliteError(error) ? StoreError.fromSqlite(error, path) : undefined;
          if (failure === undefined) throw error;
          if (failure.failure !== "busy" || Date.now() > giveUp) throw failure;
          await sleep(2 + Math.random() * 8);
        }
      }
    };
    // The version is read inside the transaction: what is read there is what the version names.
    const reading = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
      attempt(() =>
        db.connection().execute(async (connection) => {
          await sql`begin`.execute(connection);
          try {
            const result = await work(connection);
            seenVersion = dataVersion.get();
            return result;
          } finally {
            await sql`commit`.execute(connection);
          }
        }),
      );

    return {
      databaseId,
      changedElsewhere: () => dataVersion.get() !== seenVersion,
      load: () => reading(load),
      delta: (after) => reading((trx) => delta(trx, after)),
      transact: (work) =>
        attempt(() =>
          db.transaction().execute(async (trx) => {
            const version = dataVersion.get();
            const result = await work(createTransaction(trx));
            seenVersion = version;
            return result;
          }),
        ),
      close: () => db.destroy(),
    };
  } catch (error) {
    await db.destroy();
    throw isSqliteError(error) ? StoreError.fromSqlite(error, path) : error;
  }
}

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && error.name === "SqliteError";
}

function createTransaction(trx: Transaction<Database>): SettingTransaction {
  return {
    revision: () => currentRevision(trx),
    delta: (after) => delta(trx, after),
    load: () => load(trx),
    write: (rows) => write(trx, rows),
  };
}

async function readDatabaseId(db: Kysely<Database>): Promise<string> {
  await db
    .insertInto("meta")
    .values({ name: "database_id", value: randomBytes(6).toString("base64url") })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("name", "=", "database_id")
    .executeTakeFirstOrThrow();
  return row.value;
}

async function currentRevision(db: Db): Promise<number> {
  const row = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.max("revision").as("revision"))
    .executeTakeFirst();
  return Number(row?.revision ?? 0);
}

async function load(db: Db): Promise<StoredState> {
  const rows = await db
    .selectFrom("setting")
    .selectAll()
    .orderBy("position")
    .orderBy("key")
    .execute();
  return { revision: await currentRevision(db), settings: rows.map(settingFromRow) };
}

async function delta(db: Db, after: number): Promise<StoredDelta | undefined> {
  const revision = await currentRevision(db);
  if (revision < after) return undefined;
  const oldest = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.min("revision").as("revision"))
    .executeTakeFirst();
  if (after + 1 < Number(oldest?.revision ?? 0)) return undefined;
  const changed = await db
    .selectFrom("setting")
    .selectAll()
    .where("revision", ">", after)
    .orderBy("position")
    .execute();
  const deleted = await db
    .selectFrom("change")
    .select("key")
    .distinct()
    .where("revision", ">", after)
    .where("key", "not in", (eb) => eb.selectFrom("setting").select("setting.key"))
    .execute();
  return {
    revision,
    changed: changed.map(settingFromRow),
    deleted: deleted.map((row) => row.key),
  };
}

async function write(db: Db, rows: StoredWrite): Promise<void> {
  for (const batch of batches(rows.upserts))
    await db
      .insertInto("setting")
      .values(batch.map(settingToRow))
      .onConflict((conflict) =>
        conflict.column("key").doUpdateSet((eb) => ({
          value: eb.ref("excluded.value"),
          type: eb.ref("excluded.type"),
          options: eb.ref("excluded.options"),
          help: eb.ref("excluded.help"),
          group_id: eb.ref("excluded.group_id"),
          flag: eb.ref("excluded.flag"),
          origin: eb.ref("excluded.origin"),
          position: eb.ref("excluded.position"),
          revision: eb.ref("excluded.revision"),
        })),
      )
      .execute();
  for (const batch of batches(rows.deletes))
    await db.deleteFrom("setting").where("key", "in", batch).execute();
  for (const batch of batches(rows.revisions))
    await db.insertInto("revision").values(batch.map(revisionToRow)).execute();
  const changes = rows.revisions.flatMap((revision) =>
    revision.changes.map((change) => changeToRow(revision.revision, change)),
  );
  for (const batch of batches(changes)) await db.insertInto("change").values(batch).execute();
}

function batches<T>(rows: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let start = 0; start < rows.length; start += BATCH)
    result.push(rows.slice(start, start + BATCH));
  return result;
}

function settingFromRow(row: SettingRow): StoredSetting {
  const { group_id, ...rest } = row;
  return { ...rest, group: group_id, revision: Number(row.revision) };
}

function settingToRow(setting: StoredSetting): SettingRow {
  const { group, ...rest } = setting;
  return { ...rest, group_id: group };
}

function revisionToRow(commit: RevisionCommit): RevisionRow {
  return {
    revision: commit.revision,
    time: commit.time,
    actor: commit.actor,
    door: commit.door,
    method: commit.method,
    request_id: commit.requestId,
    peer: commit.peer,
    reason: commit.reason,
  };
}

function changeToRow(revision: number, change: StoredChange): ChangeRow {
  return {
    revision,
    key: change.key,
    old_value: change.oldValue,
    new_value: change.newValue,
    old_hash: change.oldHash,
    new_hash: change.newHash,
    old_definition: change.oldDefinition,
    new_definition: change.newDefinition,
  };
}
