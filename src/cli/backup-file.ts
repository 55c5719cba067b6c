import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readServerDatabase } from "../archive/alist-database.ts";
import { LIMITS, parseBackupJson } from "../archive/readable.ts";
import { importDocument } from "../client/backup-document.ts";
import { isObject } from "../is-object.ts";
import { ServiceError } from "../messages/error.ts";
import { CliFailure, EXIT, fileFailure, usage } from "./failure.ts";
import { nameOf, readText } from "./file.ts";
import type { World } from "./world.ts";

/** Content for an import. */
export interface BackupFile {
  readonly document: JsonObject;
  /** Whether some values need a passphrase. */
  readonly isSealed: boolean;
}

/**
 * Reports whether the secrets of a backup are sealed. False for a content that is not JSON: the check
 * of the backup names the place.
 */
export function hasSealedSecrets(content: Uint8Array): boolean {
  try {
    const document: unknown = JSON.parse(new TextDecoder().decode(content));
    return isObject(document) && isObject(document["sealed"]);
  } catch {
    return false;
  }
}

const SQLITE_HEADER = "SQLite format 3\0";

/**
 * Reads a file for ImportArchive: an archive, a backup of a server's page, a list of settings or
 * storages, or the database of a server.
 *
 * @param from.table name of a table when a database has several servers. @param from.only chosen
 *   parts; empty: all.
 * @throws CliFailure when it can't be read; no message quotes its content.
 */
export async function readBackupFile(
  {
    file,
    table,
    only,
  }: {
    readonly file: string;
    readonly table: string | undefined;
    readonly only: readonly string[];
  },
  world: World,
): Promise<BackupFile> {
  const value = await readValue(file, table, world);
  const document = importDocument(value as JsonValue, only);
  if (document === undefined)
    throw new CliFailure(EXIT.refused, "invalid backup: the JSON is neither an object nor a list");
  const { encrypted, sealed } = document;
  return { document, isSealed: Boolean(encrypted) || isObject(sealed) };
}

async function readValue(file: string, table: string | undefined, world: World): Promise<unknown> {
  const path = resolve(world.cwd, file);
  try {
    if (file !== "-" && (await isDatabase(path))) return readServerDatabase(path, table);
    if (table !== undefined)
      throw usage("--table requires a database, and this is not an SQLite file");
    return await parseBackupJson(await readText({ path: file, limit: LIMITS.bytes }, world));
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
