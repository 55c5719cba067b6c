import { randomBytes } from "node:crypto";
import type { Kysely, Transaction } from "kysely";
import type { Database } from "./schema.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Identity of a database, and the key of the hashes in its history. */
export interface Facts {
  readonly databaseId: string;
  readonly fingerprintKey: Buffer;
}

/** Random facts of the database, created by the first reader. */
export async function readFacts(db: Db): Promise<Facts> {
  return {
    databaseId: await madeOnce(db, "database_id", 6),
    fingerprintKey: Buffer.from(await madeOnce(db, "fingerprint_key", 32), "base64url"),
  };
}

async function madeOnce(db: Db, name: string, size: number): Promise<string> {
  const known = await readMeta(db, name);
  if (known !== undefined) return known;
  await addMeta(db, name, randomBytes(size).toString("base64url"));
  return (await readMeta(db, name)) ?? "";
}

/** Name of the last rewrite whose replaced values are still in the database files. */
const REPLACED = "replaced_text";

/** @returns the name of the last rewrite whose replaced values are not erased yet. */
export function lastRewrite(db: Db): Promise<string | undefined> {
  return readMeta(db, REPLACED);
}

export async function markRewrite(db: Db): Promise<void> {
  await setMeta(db, REPLACED, randomBytes(6).toString("base64url"));
}

/** Removes the mark of this rewrite; that of a later one stays. */
export async function unmarkRewrite(db: Db, rewrite: string): Promise<void> {
  await db.deleteFrom("meta").where("name", "=", REPLACED).where("value", "=", rewrite).execute();
}

/** Version of the sites and their states. */
const SITES = "sites_version";

/** @returns a text that changes with each markSites; undefined: none yet. */
export function sitesVersion(db: Db): Promise<string | undefined> {
  return readMeta(db, SITES);
}

/** Changes the version of the sites, in the transaction of the change. */
export async function markSites(db: Db): Promise<void> {
  await setMeta(db, SITES, randomBytes(9).toString("base64url"));
}

/** Sets a value if the stored one is `before` (undefined: none). @returns whether it was set. */
export async function replaceMeta(
  db: Db,
  name: string,
  before: string | undefined,
  value: string,
): Promise<boolean> {
  if (before === undefined) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("meta")
      .values({ name, value })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }
  const { numUpdatedRows } = await db
    .updateTable("meta")
    .set({ value })
    .where("name", "=", name)
    .where("value", "=", before)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function readMeta(db: Db, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("meta")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirst();
  return row?.value;
}

export async function setMeta(db: Db, name: string, value: string): Promise<void> {
  await db
    .insertInto("meta")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

async function addMeta(db: Db, name: string, value: string): Promise<void> {
  await db
    .insertInto("meta")
    .values({ name, value })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
