import { createHmac, createSecretKey } from "node:crypto";

const MIN_KEY_BYTES = 32;
/** Names the form, so that another one can be told apart later. */
const PREFIX = "hmac1:";

/** Stands for a value: equal for equal values, and says nothing else about them. */
export type Fingerprint = (value: string) => string;

/**
 * Makes the keyed hash that the history keeps in place of secret values (HMAC-SHA-256, RFC 2104).
 * Without the key nobody can try values against it; with the database at hand, whoever has the key
 * can, so a guessable secret is not protected from who reads the whole database.
 *
 * @param key - at least 32 random bytes, kept with the history; another key makes all values differ.
 */
export function createFingerprint(key: Buffer): Fingerprint {
  if (key.length < MIN_KEY_BYTES)
    throw new Error(`the key of the history's hashes has ${key.length} bytes, fewer than 32`);
  const secret = createSecretKey(key);
  return (value) => PREFIX + createHmac("sha256", secret).update(value, "utf8").digest("base64url");
}
