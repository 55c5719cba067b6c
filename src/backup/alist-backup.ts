import { createDecipheriv, createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isObject } from "../files/json-source.ts";
import { message } from "../messages/message.ts";
import type { ReadOptions } from "./mooring.ts";
import { LIMITS, unreadable } from "./readable.ts";
import { type ReadBackup, readSettings, type Skipped, type Unchecked } from "./setting.ts";

/** Parts of the file that are not settings. */
const OTHER_PARTS = ["users", "storages", "metas", "shares"] as const;

/** Decrypted content of the member `encrypted`. */
const PROOF = "encrypted";

/** Settings that are decrypted per event-loop tick. */
const BATCH = 100;

const TEXT_MEMBERS = ["key", "value", "help", "type", "options"] as const;
const NUMBER_MEMBERS = ["group", "flag"] as const;

/** Reports whether this is a backup of the AList or OpenList web page. */
export function isAlistBackup(value: unknown): value is Unchecked {
  return isObject(value) && "settings" in value && !("format" in value);
}

/**
 * Reads a backup from the web interface of AList or OpenList, plain or encrypted.
 *
 * @throws INVALID_ARGUMENT when a password is missing or wrong, or the file has a wrong form.
 */
export async function readAlistBackup(
  file: Unchecked,
  { passphrase }: ReadOptions,
): Promise<ReadBackup> {
  const { encrypted = "", settings } = file;
  if (typeof encrypted !== "string") throw unreadable(message("BACKUP_ENCRYPTED_INVALID"));
  return {
    source: "alist-backup",
    settings: readSettings(
      encrypted === "" ? settings : await decryptAll(settings, encrypted, passphrase ?? ""),
    ),
    skipped: OTHER_PARTS.flatMap((part) => skippedPart(part, file[part])),
  };
}

function skippedPart(part: string, entries: unknown): Skipped[] {
  const count = Array.isArray(entries) ? entries.length : 0;
  if (count === 0) return [];
  return [{ key: part, reason: message("OTHER_THINGS_IN_BACKUP", { count }) }];
}

async function decryptAll(settings: unknown, proof: string, password: string): Promise<unknown> {
  if (password === "") throw unreadable(message("BACKUP_PASSWORD_MISSING"));
  // Checked first, to distinguish a wrong password from a damaged file.
  const opened = decryptText(proof, password);
  if (opened === undefined || withoutJson(opened) !== PROOF)
    throw unreadable(message("BACKUP_PASSWORD_WRONG"));
  if (!Array.isArray(settings) || settings.length > LIMITS.settings) return settings;
  const decrypted: unknown[] = [];
  for (const [at, setting] of settings.entries()) {
    // Each setting takes 70 µs: other work runs in between.
    if (at % BATCH === BATCH - 1) await setImmediate();
    decrypted.push(
      isObject(setting) ? decryptSetting(setting, password, `settings[${at}]`) : setting,
    );
  }
  return decrypted;
}

function decryptSetting(setting: Unchecked, password: string, path: string): Unchecked {
  const decrypt = (name: string): unknown => {
    const value = setting[name];
    if (typeof value !== "string" || value === "") return value;
    const text = decryptText(value, password);
    if (text === undefined) throw unreadable(message("BACKUP_VALUE_DAMAGED", { path, name }));
    return text;
  };
  const texts = TEXT_MEMBERS.map((name) => [name, mapText(decrypt(name), withoutJson)]);
  const numbers = NUMBER_MEMBERS.map((name) => [name, mapText(decrypt(name), toNumber)]);
  return Object.fromEntries([...texts, ...numbers]);
}

function mapText(value: unknown, map: (text: string) => unknown): unknown {
  return typeof value === "string" ? map(value) : value;
}

/** Decodes both Base64 layers and decrypts; undefined when one of the steps fails. */
function decryptText(text: string, password: string): string | undefined {
  const inner = Buffer.from(text, "base64").toString("latin1");
  const bytes = openSalted(Buffer.from(inner, "base64"), password);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Text of a JSON string; older pages encrypt some values without JSON. */
function withoutJson(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}

/** Number as JSON, or as text from an older page; other values are rejected later. */
function toNumber(text: string): unknown {
  const digits = withoutJson(text);
  return /^-?\d{1,15}$/.test(digits) ? Number(digits) : digits;
}

/** Header before 8 bytes of salt and the ciphertext, as written by OpenSSL's `enc -salt`. */
const MAGIC = "Salted__";
const SALT_BYTES = 8;
const KEY_BYTES = 32;
const IV_BYTES = 16;

/**
 * Decrypts AES-256-CBC with a passphrase in OpenSSL's format: key and IV by EVP_BytesToKey with MD5
 * and one round. The format is weak and has no authentication; it is only read, never written.
 *
 * @returns undefined for bytes of another format or a wrong passphrase. One of 256 wrong
 *   passphrases is not detected here, so the caller has to check the result.
 */
function openSalted(bytes: Buffer, passphrase: string): Buffer | undefined {
  const start = MAGIC.length + SALT_BYTES;
  if (bytes.length <= start || bytes.toString("latin1", 0, MAGIC.length) !== MAGIC)
    return undefined;
  const { key, iv } = deriveKey(Buffer.from(passphrase), bytes.subarray(MAGIC.length, start));
  const decipher = createDecipheriv("aes-256-cbc", key, iv);
  try {
    return Buffer.concat([decipher.update(bytes.subarray(start)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** EVP_BytesToKey: each block is the hash of the block before, the passphrase and the salt. */
function deriveKey(passphrase: Buffer, salt: Buffer): { key: Buffer; iv: Buffer } {
  let block = Buffer.alloc(0);
  let derived = block;
  while (derived.length < KEY_BYTES + IV_BYTES) {
    block = createHash("md5").update(block).update(passphrase).update(salt).digest();
    derived = Buffer.concat([derived, block]);
  }
  return { key: derived.subarray(0, KEY_BYTES), iv: derived.subarray(KEY_BYTES) };
}
