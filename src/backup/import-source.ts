import { type FileHandle, open } from "node:fs/promises";
import { isObject } from "../files/json-source.ts";
import { notFound } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { isAlistBackup, readAlistBackup } from "./alist-backup.ts";
import { readAlistDatabase } from "./alist-database.ts";
import { isDocument, type ReadOptions, readDocument } from "./mooring.ts";
import type { PassphraseCipher } from "./passphrase.ts";
import { checkSize, decodeUtf8, parseBackupJson, unreadable } from "./readable.ts";
import { type ReadBackup, readSettings } from "./setting.ts";

const SQLITE_HEADER = "SQLite format 3\0";

/** Source of an import: JSON in the request (parsed or text), or a file on this machine. */
export type ImportInput =
  | { readonly value: unknown }
  | { readonly text: string }
  | { readonly path: string };

export interface ImportOptions extends ReadOptions {
  /** Table of the database to read, if several look like settings. */
  readonly table?: string | undefined;
}

/**
 * Reads a backup of any known format: Mooring's own document, a backup file of AList's or
 * OpenList's web page, or the reply of `/api/admin/setting/list` (or only its array of settings). A
 * path may also name the SQLite database of such a server.
 *
 * @throws INVALID_ARGUMENT with the problem, without values; NOT_FOUND for a path without a file.
 */
export async function readImport(
  input: ImportInput,
  options: ImportOptions,
  cipher: PassphraseCipher,
): Promise<ReadBackup> {
  if ("value" in input) return readValue(input.value, options, cipher);
  if ("text" in input) return readValue(parseBackupJson(input.text), options, cipher);
  const text = await readTextFile(input.path);
  return text === undefined
    ? readAlistDatabase(input.path, options.table)
    : readValue(parseBackupJson(text), options, cipher);
}

async function readValue(
  value: unknown,
  options: ReadOptions,
  cipher: PassphraseCipher,
): Promise<ReadBackup> {
  if (isDocument(value)) return readDocument(value, options, cipher);
  if (isAlistBackup(value)) return readAlistBackup(value, options);
  const { data: list } = isObject(value) ? value : { data: value };
  if (Array.isArray(list))
    return { source: "setting-list", settings: readSettings(list), skipped: [] };
  throw unreadable(message("BACKUP_UNKNOWN"));
}

/** @returns undefined when the file is a SQLite database. */
async function readTextFile(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const facts = await file.stat();
    if (!facts.isFile()) throw unreadable(message("NOT_A_FILE", { path }));
    const header = Buffer.alloc(SQLITE_HEADER.length);
    await file.read(header, 0, header.length, 0);
    if (header.toString("latin1") === SQLITE_HEADER) return undefined;
    checkSize(facts.size);
    return decodeUtf8(await file.readFile());
  } catch (error) {
    throw explain(path, error);
  } finally {
    await file?.close();
  }
}

function explain(path: string, error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return notFound(message("FILE_NOT_FOUND", { path }));
  if (code === "EACCES" || code === "EPERM") return unreadable(message("FILE_FORBIDDEN", { path }));
  return error;
}
