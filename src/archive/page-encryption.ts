import { createDecipheriv, createHash } from "node:crypto";
import { message } from "../messages/message.ts";
import { setOwn } from "../own-value.ts";
import { unreadable } from "./readable.ts";

/** Decrypted content of the member `encrypted` of a backup. */
const PROOF = "encrypted";

/**
 * Checks the passphrase of an encrypted backup of AList's or OpenList's web page, to distinguish a
 * wrong one from a damaged file.
 *
 * @param proof member `encrypted` of the backup. @throws INVALID_ARGUMENT.
 */
export function checkPagePassphrase(proof: string, passphrase: string): void {
  if (passphrase === "") throw unreadable(message("BACKUP_PASSWORD_MISSING"));
  const opened = decryptText(proof, passphrase);
  if (opened === undefined || withoutJson(opened) !== PROOF)
    throw unreadable(message("BACKUP_PASSWORD_WRONG"));
}

/** Decrypts a value in the tick of its job; undefined: damaged. */
export type OpenText = (text: string) => Promise<string | undefined>;

/**
 * Decrypts every text of an entry, such as a storage, and reads it as JSON; older pages encrypt
 * some values without JSON.
 *
 * @param path of the entry, for messages. @throws INVALID_ARGUMENT when a value is damaged.
 */
export async function decryptEntry(
  entry: Readonly<Record<string, unknown>>,
  open: OpenText,
  path: string,
): Promise<Record<string, unknown>> {
  const opened: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(entry)) {
    const text = await openMember(value, open, { path, name });
    setOwn(opened, name, text === undefined ? value : fromJson(text));
  }
  return opened;
}

/** Decrypts a member of an entry. @returns undefined: it is no text, or empty. */
export async function openMember(
  value: unknown,
  open: OpenText,
  { path, name }: { readonly path: string; readonly name: string },
): Promise<string | undefined> {
  if (typeof value !== "string" || value === "") return undefined;
  const text = await open(value);
  if (text === undefined)
    throw unreadable(message("BACKUP_VALUE_DAMAGED", { path, name: name.slice(0, 64) }));
  return text;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Decodes both Base64 layers and decrypts; undefined when one of the steps fails. */
export function decryptText(text: string, password: string): string | undefined {
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
export function withoutJson(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
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
