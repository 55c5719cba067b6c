import { createSecretKey, hkdfSync, KeyObject } from "node:crypto";
import { failedPrecondition } from "../messages/error.ts";
import { message } from "../messages/message.ts";

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
export interface SealingKey {
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
