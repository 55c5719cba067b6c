import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { readAlistDatabase } from "../backup/alist-database.ts";
import { createBackup } from "../backup/mooring.ts";
import { createPassphraseCipher } from "../backup/passphrase.ts";
import { LIMITS, parseBackupJson } from "../backup/readable.ts";
import { isObject } from "../files/json-source.ts";
import { ServiceError } from "../messages/error.ts";
import { CliFailure, EXIT, fileFailure, usage } from "./failure.ts";
import { nameOf, readText } from "./file.ts";
import type { World } from "./world.ts";

/** Content for ImportSettings, and the parts that are left out. */
export interface BackupFile {
  /** A JSON object of a kind that ImportSettings reads. */
  readonly document: object;
  /** Whether some parts need a passphrase. */
  readonly isSealed: boolean;
  /** Parts of the file that are not sent to the service. */
  readonly skipped: readonly { readonly key: string; readonly reason: string }[];
}

const SQLITE_HEADER = "SQLite format 3\0";

/**
 * Reads a backup for sending: JSON is unchanged; the settings of an AList or OpenList database
 * become a document of Mooring.
 *
 * @param from `table`: name of the table, when a database has several tables of settings.
 * @throws CliFailure when it can't be read; no message quotes its content.
 */
export async function readBackupFile(
  from: { readonly file: string; readonly table: string | undefined },
  world: World,
): Promise<BackupFile> {
  const { file, table } = from;
  const path = resolve(world.cwd, file);
  try {
    if (file !== "-" && (await isDatabase(path))) return await readDatabase(path, table, world);
    if (table !== undefined)
      throw usage("--table requires a database, and this is not an SQLite file");
    return toDocument(parseBackupJson(await readText({ path: file, limit: LIMITS.bytes }, world)));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new CliFailure(
      EXIT.refused,
      error.message,
      error.violations.length > 1
        ? error.violations.map(({ description }) => String(description))
        : [],
    );
  }
}

async function isDatabase(path: string): Promise<boolean> {
  try {
    await using file = await open(path, "r");
    // A shell's <(…) can be read only once, sequentially.
    if (!(await file.stat()).isFile()) return false;
    const { buffer } = await file.read(Buffer.alloc(SQLITE_HEADER.length), 0);
    return buffer.toString("latin1") === SQLITE_HEADER;
  } catch (error) {
    throw fileFailure(`${nameOf(path)} can't be read`, error);
  }
}

async function readDatabase(
  path: string,
  table: string | undefined,
  world: World,
): Promise<BackupFile> {
  const { settings, skipped } = readAlistDatabase(path, table);
  const document = await createBackup(
    {
      // The document contains all values in the clear: the service marks secrets itself.
      settings: settings.map((setting) => ({ ...setting, secret: false })),
      revision: 0,
      time: world.now(),
    },
    { mode: "clear" },
    createPassphraseCipher(randomBytes),
  );
  return {
    document,
    isSealed: false,
    skipped: skipped.map(({ key, reason }) => ({ key, reason: String(reason) })),
  };
}

function toDocument(value: unknown): BackupFile {
  // A bare list of settings is not a JSON object: it is wrapped as the `data` of a reply.
  const document = Array.isArray(value) ? { data: value } : value;
  if (!isObject(document))
    throw new CliFailure(EXIT.refused, "invalid backup: the JSON is neither an object nor a list");
  const { encrypted, secrets } = document;
  return { document, isSealed: Boolean(encrypted) || isObject(secrets), skipped: [] };
}
