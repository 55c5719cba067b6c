import { isObject } from "../files/json-source.ts";
import { message } from "../messages/message.ts";
import type { PassphraseCipher, SealedText } from "./passphrase.ts";
import { parseBackupJson, unreadable } from "./readable.ts";
import {
  type BackupSetting,
  type ReadBackup,
  readSettings,
  type Skipped,
  type Unchecked,
} from "./setting.ts";

/** Format name of Mooring's own backup document, and the version that is written. */
export const FORMAT = "mooring-settings";
export const VERSION = 1;

/** Origin of a document. */
export interface DocumentHeader {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** Time of writing, ISO 8601 in UTC. */
  readonly created: string;
  /** Random id of the database; empty: unknown. */
  readonly databaseId: string;
  /** Revision of the settings. */
  readonly revision: number;
}

/** Mooring's own backup: one JSON object. */
export interface BackupDocument extends DocumentHeader {
  readonly settings: readonly BackupSetting[];
  /** Keys of the secret settings that were left out. */
  readonly omitted?: readonly string[];
  /** The secret settings as JSON text of an array, sealed, with their keys in the clear. */
  readonly secrets?: SealedText & { readonly keys: readonly string[] };
}

/**
 * Additional authenticated data of the sealed secrets: they cannot be opened in another document or
 * under another list of keys. The settings in the clear are not included, so that they can be
 * edited.
 */
export function sealingHeader(header: DocumentHeader, keys: readonly string[]): string {
  const { format, version, created, databaseId, revision } = header;
  return JSON.stringify([format, version, created, databaseId, revision, keys]);
}

/** Content of Mooring's own document. */
export interface ReadDocument extends ReadBackup {
  readonly source: "mooring";
  readonly header: DocumentHeader;
}

/** Options for reading a backup. */
export interface ReadOptions {
  /** Passphrase of the backup, if it has sealed or encrypted parts. */
  readonly passphrase?: string | undefined;
}

export function isDocument(value: unknown): value is Unchecked {
  if (!isObject(value)) return false;
  const { format } = value;
  return format === FORMAT;
}

/**
 * Reads Mooring's own document. Without a passphrase, sealed secrets are skipped.
 *
 * @throws INVALID_ARGUMENT when the document has a newer version or an invalid format, or the
 *   passphrase is wrong.
 */
export async function readDocument(
  document: Unchecked,
  { passphrase }: ReadOptions,
  cipher: PassphraseCipher,
): Promise<ReadDocument> {
  const header = readHeader(document);
  const { omitted, secrets, settings: listed } = document;
  const skipped: Skipped[] = readKeys(omitted, "omitted").map((key) => ({
    key,
    reason: message("SECRET_LEFT_OUT"),
  }));
  const settings = readSettings(listed);
  if (secrets !== undefined) {
    const { keys, sealed } = readSealed(secrets);
    if (passphrase === undefined || passphrase === "")
      skipped.push(...keys.map((key) => ({ key, reason: message("SEALED_IN_BACKUP") })));
    else settings.push(...(await openSecrets(header, keys, sealed, passphrase, cipher)));
  }
  return { source: "mooring", header, settings, skipped };
}

function readHeader(document: Unchecked): DocumentHeader {
  const { version, created = "", databaseId = "", revision = 0 } = document;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1)
    throw unreadable(message("BACKUP_VERSION_INVALID"));
  if (version > VERSION)
    throw unreadable(message("BACKUP_VERSION_NEWER", { version, known: VERSION }));
  if (typeof created !== "string" || typeof databaseId !== "string")
    throw unreadable(message("BACKUP_ORIGIN_INVALID"));
  if (!Number.isSafeInteger(revision)) throw unreadable(message("BACKUP_REVISION_INVALID"));
  return { format: FORMAT, version, created, databaseId, revision: revision as number };
}

function readKeys(value: unknown, name: string): string[] {
  const keys = value ?? [];
  if (Array.isArray(keys) && keys.every((key) => typeof key === "string")) return keys;
  throw unreadable(message("BACKUP_KEYS_INVALID", { name }));
}

function readSealed(secrets: unknown): { keys: string[]; sealed: SealedText } {
  if (!isObject(secrets)) throw unreadable(message("BACKUP_SECRETS_INVALID"));
  const { keys, cipher, kdf, n, r, p, salt, nonce, sealed } = secrets;
  const texts = [cipher, kdf, salt, nonce, sealed].every((member) => typeof member === "string");
  if (!texts || ![n, r, p].every((member) => typeof member === "number"))
    throw unreadable(message("BACKUP_SECRETS_INCOMPLETE"));
  const envelope = { cipher, kdf, n, r, p, salt, nonce, sealed } as SealedText;
  return { keys: readKeys(keys, "secrets.keys"), sealed: envelope };
}

async function openSecrets(
  header: DocumentHeader,
  keys: readonly string[],
  sealed: SealedText,
  passphrase: string,
  cipher: PassphraseCipher,
): Promise<BackupSetting[]> {
  const text = await cipher.open(passphrase, sealed, sealingHeader(header, keys));
  return readSettings(parseBackupJson(text), "secrets");
}
