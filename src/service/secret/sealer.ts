import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  KeyObject,
  randomBytes,
} from "node:crypto";
import { Code } from "@connectrpc/connect";
import { failedPrecondition, ServiceError } from "../error.ts";

const CIPHER = "aes-256-gcm";
/** NIST SP 800-38D, section 8.2: a random nonce has 96 bits. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `sealed:v1:<key id>:<base64url of nonce, ciphertext and tag>`. */
const SEALED = "sealed:";
const SEALED_V1 = /^sealed:v1:([0-9a-f]{12}):([A-Za-z0-9_-]+)$/;
/** In front of a value in the clear that would otherwise look like something else. */
const ESCAPE = "plain:v1:";

/** Turns the values of secret settings into what the database keeps, and back. */
export interface Sealer {
  /** Whether there is a key to seal with. */
  readonly seals: boolean;
  /** @returns the text to keep: sealed with the first key, or the value itself without keys. */
  seal(key: string, plaintext: string): string;
  /**
   * @param key - of the setting; a sealed value opens for the setting it was sealed for only.
   * @throws FAILED_PRECONDITION when the key that sealed it is not configured; DATA_LOSS when the
   * value was changed or belongs to another setting. Neither quotes a value.
   */
  open(key: string, stored: string): string;
  isSealed(stored: string): boolean;
  /** The public name of the key that sealed it; undefined: it is in the clear. */
  keyOf(stored: string): string | undefined;
  /** Whether sealing it anew would change more than its nonce: it is in the clear, or another key's. */
  needsReseal(stored: string): boolean;
}

/**
 * Makes a sealer.
 *
 * @param keys - as {@link deriveSealingKey} takes them: the first seals, all open. None: values are
 * kept as they are.
 * @throws FAILED_PRECONDITION when a key is too short.
 */
export function createSealer(
  keys: readonly (string | KeyObject)[],
  random: (size: number) => Buffer = randomBytes,
): Sealer {
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
      first === undefined ? escapePlain(plaintext) : encrypt(first, key, plaintext, random),
    open: (key, stored) => {
      if (!isSealed(stored)) return unescapePlain(stored);
      const [, id = "", body = ""] = SEALED_V1.exec(stored) ?? [];
      if (id === "") throw damaged(key);
      const sealedBy = byId.get(id);
      if (sealedBy === undefined) throw keyMissing(key, id, keys.length);
      return decrypt(sealedBy, key, Buffer.from(body, "base64url"));
    },
  };
}

function escapePlain(value: string): string {
  return value.startsWith(SEALED) || value.startsWith(ESCAPE) ? `${ESCAPE}${value}` : value;
}

function unescapePlain(stored: string): string {
  return stored.startsWith(ESCAPE) ? stored.slice(ESCAPE.length) : stored;
}

function encrypt(
  { id, secret }: SealingKey,
  key: string,
  plaintext: string,
  random: (size: number) => Buffer,
): string {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(boundTo(id, key));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(plaintext, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `sealed:v1:${id}:${sealed.toString("base64url")}`;
}

function decrypt({ id, secret }: SealingKey, key: string, sealed: Buffer): string {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw damaged(key);
  const tagAt = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES })
    .setAAD(boundTo(id, key))
    .setAuthTag(sealed.subarray(tagAt));
  try {
    const opened = [decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()];
    return Buffer.concat(opened).toString("utf8");
  } catch {
    throw damaged(key);
  }
}

/** Additional data: a value that somebody copies to another setting does not open there. */
function boundTo(id: string, key: string): Buffer {
  return Buffer.from(`sealed:v1:${id}:${key}`);
}

function keyMissing(key: string, id: string, count: number): ServiceError {
  const have = count === 0 ? "no sealing key is configured" : `none of the ${count} configured`;
  return failedPrecondition(
    `the setting "${key}" is sealed with the key ${id}, and ${have}${count === 0 ? "" : " keys is that one"}: add that key to MOORING_SECRET_KEY (after the one that seals now), or restore the setting from a backup`,
  );
}

function damaged(key: string): ServiceError {
  return new ServiceError(
    Code.DataLoss,
    `the sealed value of the setting "${key}" does not open: it was changed in the database, or copied there from another setting; restore it from a backup or set it anew`,
  );
}

/** Characters of a key that is given as any text; a random one of this length is strong enough. */
const MIN_TEXT = 32;
const MIN_BYTES = 32;

/** What HKDF (RFC 5869) derives from a configured key: one to encrypt with, and its public name. */
const SEAL_INFO = "mooring sealed setting v1";
const ID_INFO = "mooring sealing key id v1";
const ID_BYTES = 6;

/** A key as the sealer uses it. */
interface SealingKey {
  /** Names the key in what it sealed, and says nothing about it: 12 hexadecimal digits. */
  readonly id: string;
  /** 32 bytes for AES-256. */
  readonly secret: KeyObject;
}

/**
 * Derives a sealing key from a configured one: a secret key object of at least 32 bytes, 32 bytes in
 * hexadecimal or base64 (either alphabet), or any text of at least 32 characters. The same bytes
 * give the same key, however they are written.
 *
 * @param number - place in the list of keys, from 1, for the message.
 * @throws FAILED_PRECONDITION when the key is too short; the message does not quote it.
 */
function deriveSealingKey(configured: string | KeyObject, number: number): SealingKey {
  const bytes = configured instanceof KeyObject ? configured.export() : keyBytes(configured);
  if (!Buffer.isBuffer(bytes) || bytes.length < MIN_BYTES)
    throw failedPrecondition(
      `sealing key number ${number} is too short: give 32 random bytes in hexadecimal or base64 ("openssl rand -hex 32" makes them), or at least ${MIN_TEXT} characters of text`,
    );
  const derive = (info: string, size: number) =>
    Buffer.from(hkdfSync("sha256", bytes, Buffer.alloc(0), info, size));
  return {
    id: derive(ID_INFO, ID_BYTES).toString("hex"),
    secret: createSecretKey(derive(SEAL_INFO, 32)),
  };
}

function keyBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[a-z0-9+/_-]{43}=?$/i.test(text)) return Buffer.from(text, "base64");
  return [...text].length < MIN_TEXT ? undefined : Buffer.from(text);
}
