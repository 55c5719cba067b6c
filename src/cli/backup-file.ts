import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readAlistDatabase, readAlistStorages } from "../archive/alist-database.ts";
import { createBackup } from "../archive/mooring.ts";
import { createPassphraseCipher } from "../archive/passphrase.ts";
import { LIMITS, parseBackupJson } from "../archive/readable.ts";
import { mountsOnly, settingsOnly } from "../client/backup-document.ts";
import { isObject } from "../files/json-source.ts";
import { ServiceError } from "../messages/error.ts";
import { CliFailure, EXIT, fileFailure, usage } from "./failure.ts";
import { nameOf, readText } from "./file.ts";
import type { World } from "./world.ts";

/** Content for an import, and the parts that are left out. */
export interface BackupFile {
  /** A JSON object of a kind that the call reads. */
  readonly document: JsonObject;
  /** Whether some parts need a passphrase. */
  readonly isSealed: boolean;
  /** Parts of the file that are not sent to the service. */
  readonly skipped: readonly { readonly key: string; readonly reason: string }[];
}

/** A file, and the name of a table when a database has several of a kind. */
interface From {
  readonly file: string;
  readonly table: string | undefined;
}

const SQLITE_HEADER = "SQLite format 3\0";

/**
 * Reads a backup for ImportSettings: JSON is unchanged, without what the call ignores; the settings
 * of an AList or OpenList database become a document of Mooring.
 *
 * @throws CliFailure when it can't be read; no message quotes its content.
 */
export async function readBackupFile(from: From, world: World): Promise<BackupFile> {
  return readFile(from, world, {
    database: (path) => readDatabase(path, from.table, world),
    json: async (value) => {
      // A bare list of settings is not a JSON object: it is wrapped as the `data` of a reply.
      const document = Array.isArray(value) ? { data: value } : value;
      if (!isObject(document))
        throw new CliFailure(
          EXIT.refused,
          "invalid backup: the JSON is neither an object nor a list",
        );
      const { encrypted, secrets } = document;
      return {
        document: settingsOnly(document as JsonObject),
        isSealed: Boolean(encrypted) || isObject(secrets),
        skipped: [],
      };
    },
  });
}

/**
 * Reads mounts for ImportMounts: a document of `mount export`, a backup of a server's page, a list
 * of storages, or the database of a server.
 *
 * @throws CliFailure when it can't be read; no message quotes its content.
 */
export async function readMountsFile(from: From, world: World): Promise<BackupFile> {
  return readFile(from, world, {
    database: async (path) => toMounts(from.file, readAlistStorages(path, from.table)),
    json: async (value) => toMounts(from.file, value),
  });
}

function toMounts(file: string, value: unknown): BackupFile {
  const document = mountsOnly(value as JsonValue);
  if (document === undefined)
    throw new CliFailure(EXIT.refused, `${nameOf(file)} has no list of mounts`);
  return { document, isSealed: Boolean(document["encrypted"]), skipped: [] };
}

async function readFile(
  { file, table }: From,
  world: World,
  read: {
    readonly database: (path: string) => Promise<BackupFile>;
    readonly json: (value: unknown) => Promise<BackupFile>;
  },
): Promise<BackupFile> {
  const path = resolve(world.cwd, file);
  try {
    if (file !== "-" && (await isDatabase(path))) return await read.database(path);
    if (table !== undefined)
      throw usage("--table requires a database, and this is not an SQLite file");
    return await read.json(
      parseBackupJson(await readText({ path: file, limit: LIMITS.bytes }, world)),
    );
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
    document: document as unknown as JsonObject,
    isSealed: false,
    skipped: skipped.map(({ key, reason }) => ({ key, reason: String(reason) })),
  };
}
