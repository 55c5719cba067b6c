import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/** Prefix of every token of a principal. */
export const TOKEN_PREFIX = "mrg_";
/** Random bytes of an id, and their number of base-62 digits; the highest bit is lost. */
const ID_BYTES = 9;
const ID_LENGTH = 12;
/** Random bytes of a secret, and their number of base-62 digits. */
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43;
/** Number of base-62 digits of a CRC-32. */
const CHECK_LENGTH = 6;
const LENGTH = TOKEN_PREFIX.length + ID_LENGTH + "_".length + SECRET_LENGTH + CHECK_LENGTH;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** New token: its id, its text (shown once) and its stored hash. */
export interface NewToken {
  readonly id: string;
  readonly text: string;
  /** SHA-256 of secret and checksum in base64url; 256 random bits need no slower hash. */
  readonly hash: string;
}

/**
 * Creates a token: `mrg_`, an id, `_`, a secret, and a CRC-32, by which typing errors and leaked
 * tokens are recognized without the database.
 */
export function makeToken(randomBytes: (size: number) => Buffer): NewToken {
  const id = base62(randomBytes(ID_BYTES), ID_LENGTH);
  const secret = base62(randomBytes(SECRET_BYTES), SECRET_LENGTH);
  const unchecked = `${TOKEN_PREFIX}${id}_${secret}`;
  const text = unchecked + checkOf(unchecked);
  return { id, text, hash: hashOf(secretOf(text)) };
}

/** Token of a header `authorization`, sent raw or as `Bearer …`; empty: none. */
export function readToken(header: string | undefined): string {
  const value = (header ?? "").trim();
  return /^bearer( |$)/i.test(value) ? value.slice("bearer".length).trim() : value;
}

/** Id of a text with the prefix and the length of a principal's token; undefined for other texts. */
export function idOf(text: string): string | undefined {
  if (text.length !== LENGTH || !text.startsWith(TOKEN_PREFIX)) return undefined;
  return text.slice(TOKEN_PREFIX.length, TOKEN_PREFIX.length + ID_LENGTH);
}

/** The part of a token that is hashed: its secret and its checksum. */
export function secretOf(text: string): string {
  return text.slice(TOKEN_PREFIX.length + ID_LENGTH + "_".length);
}

/** Reports whether the format and the checksum of a token are valid. */
export function isWellFormed(text: string): boolean {
  if (idOf(text) === undefined) return false;
  return checkOf(text.slice(0, -CHECK_LENGTH)) === text.slice(-CHECK_LENGTH);
}

/** SHA-256 in base64url of the part of a token that `secretOf` returns. */
export function hashOf(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** CRC-32 of a text as base-62 digits. */
function checkOf(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let at = 0; at < CHECK_LENGTH; at += 1) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Encodes bytes as base-62 digits of a fixed length. */
function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let digits = "";
  for (let at = 0; at < length; at += 1) {
    digits = DIGITS[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return digits;
}
