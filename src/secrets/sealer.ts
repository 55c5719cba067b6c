import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  KeyObject,
  randomBytes,
} from "node:crypto";
import { Code } from "@connectrpc/connect";
import { failedPrecondition, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";

const CIPHER = "aes-256-gcm";
/** NIST SP 800-38D, section 8.2: a random nonce has 96 bits. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `sealed:v1:<key id>:<base64url of nonce, ciphertext and tag>`. */
const SEALED = "sealed:";
const SEALED_V1 = /^sealed:v1:([0-9a-f]{12}):([A-Za-z0-9_-]+)$/;
/** Prefix of a value in the clear that begins with one of the prefixes. */
const ESCAPE = "plain:v1:";

/** Encrypts secrets for the database, and decrypts them. */
export interface Sealer {
  /** Whether a sealing key exists. */
  readonly seals: boolean;
  /** @returns the text to store: sealed with the first key, or the value itself without keys. */
  seal(key: string, plaintext: string): string;
  /**
   * @param key - place of the value; a sealed value can be opened only in its own place.
   * @param name - name in messages. Default: the place.
   * @throws FAILED_PRECONDITION when the key that sealed it is not configured; DATA_LOSS when the
   *   value was changed or belongs to another setting. Neither quotes a value.
   */
  open(key: string, stored: string, name?: string): string;
  isSealed(stored: string): boolean;
  /** Public name of the sealing key; undefined: the value is in the clear. */
  keyOf(stored: string): string | undefined;
  /**
   * Reports whether sealing it again changes more than its nonce: it is in the clear, or sealed
   * with another key.
   */
  needsReseal(stored: string): boolean;
}

/**
 * Creates a sealer.
 *
 * @param keys - as for {@link deriveSealingKey}: the first one seals, all open. None: values stay
 *   in the clear.
 * @throws FAILED_PRECONDITION when a key is too short.
 */
export function createSealer(keys: readonly (string | KeyObject)[]): Sealer {
  const derived = keys.map((key, at) => deriveSealingKey(key, at + 1));
  const [first] = derived;
  const byId = new Map(derived.map((key) => [key.id, key]));
  const isSealed = (stored: string): boolean => stored.startsWith(SEALED);

  return {
    seals: first !== undefined,
    isSealed,
    keyOf: (stored) => SEALED_V1.exec(stored)?.[1],
    needsReseal: (stored) => first !== undefined && SEALED_V1.exec(stored)?.[1] !== first.id,
    seal: (key, plaintext) =>
      first === undefined ? escapePlain(plaintext) : encrypt(first, key, plaintext),
    open: (key, stored, name = key) => {
      if (!isSealed(stored)) return unescapePlain(stored);
      const [, id = "", body = ""] = SEALED_V1.exec(stored) ?? [];
      if (id === "") throw damaged(name);
      const sealedBy = byId.get(id);
      if (sealedBy === undefined) throw keyMissing(name, id, keys.length);
      const text = decrypt(sealedBy, key, Buffer.from(body, "base64url"));
      if (text === undefined) throw damaged(name);
      return text;
    },
  };
}

function escapePlain(value: string): string {
  return value.startsWith(SEALED) || value.startsWith(ESCAPE) ? `${ESCAPE}${value}` : value;
}

function unescapePlain(stored: string): string {
  return stored.startsWith(ESCAPE) ? stored.slice(ESCAPE.length) : stored;
}

function encrypt({ id, secret }: SealingKey, key: string, plaintext: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(boundTo(id, key));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(plaintext, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `sealed:v1:${id}:${sealed.toString("base64url")}`;
}

/** @returns undefined: it was changed, or sealed for another place. */
function decrypt({ id, secret }: SealingKey, key: string, sealed: Buffer): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const tagAt = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES })
    .setAAD(boundTo(id, key))
    .setAuthTag(sealed.subarray(tagAt));
  try {
    const opened = [decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()];
    return Buffer.concat(opened).toString("utf8");
  } catch {
    return undefined;
  }
}

/** Additional authenticated data: a value copied to another place cannot be opened there. */
function boundTo(id: string, key: string): Buffer {
  return Buffer.from(`sealed:v1:${id}:${key}`);
}

function keyMissing(key: string, id: string, count: number): ServiceError {
  const have = count === 0 ? message("NO_SEALING_KEY") : message("NOT_AMONG_KEYS", { count });
  return failedPrecondition(message("SETTING_KEY_MISSING", { key, id, have }));
}

function damaged(key: string): ServiceError {
  return new ServiceError(Code.DataLoss, message("SETTING_DOES_NOT_OPEN", { key }));
}

/**
 * Minimum length of a key given as text, in characters; a random text of this length is strong
 * enough.
 */
const MIN_TEXT = 32;
const MIN_BYTES = 32;

/** Keys derived from a configured key by HKDF (RFC 5869), one per purpose. */
const SEAL_INFO = "mooring sealed setting v1";
const ID_INFO = "mooring sealing key id v1";
const FINGERPRINT_INFO = "mooring secret fingerprint v1";
const ID_BYTES = 6;
const KEY_BYTES = 32;

/** Keys derived from one configured sealing key. */
interface SealingKey {
  /** Public name of the key, part of sealed values and hashes: 12 hexadecimal digits. */
  readonly id: string;
  /** AES-256 key for sealing values. */
  readonly secret: KeyObject;
  /**
   * HMAC key for the hashes of secret values.
   *
   * @param salt random bytes of the database: databases with the same sealing key have different
   *   hashes.
   */
  fingerprintKey(salt: Buffer): KeyObject;
}

/**
 * Derives a sealing key from a configured one: a secret key object of at least 32 bytes, 32 bytes
 * in hexadecimal or base64 (either alphabet), or any text of at least 32 characters. The same bytes
 * give the same key in every notation.
 *
 * @param number place in the list of keys, from 1, for the message.
 * @throws FAILED_PRECONDITION when the key is too short; the message does not quote it.
 */
export function deriveSealingKey(configured: string | KeyObject, number: number): SealingKey {
  const bytes = configured instanceof KeyObject ? configured.export() : keyBytes(configured);
  if (!Buffer.isBuffer(bytes) || bytes.length < MIN_BYTES)
    throw failedPrecondition(message("SEALING_KEY_TOO_SHORT", { number, least: MIN_TEXT }));
  const derive = (info: string, size: number, salt: Buffer = Buffer.alloc(0)) =>
    Buffer.from(hkdfSync("sha256", bytes, salt, info, size));
  return {
    id: derive(ID_INFO, ID_BYTES).toString("hex"),
    secret: createSecretKey(derive(SEAL_INFO, KEY_BYTES)),
    fingerprintKey: (salt) => createSecretKey(derive(FINGERPRINT_INFO, KEY_BYTES, salt)),
  };
}

function keyBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[a-z0-9+/_-]{43}=?$/i.test(text)) return Buffer.from(text, "base64");
  return [...text].length < MIN_TEXT ? undefined : Buffer.from(text);
}
