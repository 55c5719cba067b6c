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
const FORMAT = "mooring-settings";
const VERSION = 1;

/** Origin of a document. */
interface DocumentHeader {
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
function sealingHeader(header: DocumentHeader, keys: readonly string[]): string {
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

/** Treatment of secret settings in a backup. */
export type SecretsMode =
  /** Secrets are left out, and listed by key. */
  | { readonly mode: "omit" }
  /** Sealed: reading the backup requires the passphrase of at least 8 characters. */
  | { readonly mode: "seal"; readonly passphrase: string }
  /** In the clear. */
  | { readonly mode: "clear" };

export interface BackupContent {
  readonly settings: Iterable<BackupSetting & { readonly secret: boolean }>;
  readonly revision: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly databaseId?: string;
}

/**
 * Makes Mooring's own backup document.
 *
 * @throws INVALID_ARGUMENT when the passphrase is too short.
 */
export async function createBackup(
  { settings, revision, time, databaseId = "" }: BackupContent,
  secrets: SecretsMode,
  cipher: PassphraseCipher,
): Promise<BackupDocument> {
  const all = [...settings];
  const created = new Date(time).toISOString();
  const header = { format: FORMAT, version: VERSION, created, databaseId, revision } as const;
  const open = all.filter((setting) => secrets.mode === "clear" || !setting.secret).map(toBackup);
  const secret = all.filter((setting) => setting.secret).map(toBackup);
  const rest = await secretPart(header, secret, secrets, cipher);
  return { ...header, settings: open, ...rest };
}

async function secretPart(
  header: DocumentHeader,
  settings: readonly BackupSetting[],
  secrets: SecretsMode,
  cipher: PassphraseCipher,
) {
  const keys = settings.map(({ key }) => key);
  if (secrets.mode === "clear") return {};
  if (secrets.mode === "omit") return { omitted: keys };
  const { passphrase } = secrets;
  const bound = sealingHeader(header, keys);
  const sealed = await cipher.seal(passphrase, JSON.stringify(settings), bound);
  return { secrets: { keys, ...sealed } };
}

function toBackup(setting: BackupSetting): BackupSetting {
  const { key, value, type, options, help, group, flag } = setting;
  return { key, value, type, options, help, group, flag };
}
