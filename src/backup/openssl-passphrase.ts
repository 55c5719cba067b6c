import { createDecipheriv, createHash } from "node:crypto";

/** Header before 8 bytes of salt and the ciphertext, as written by OpenSSL's `enc -salt`. */
const MAGIC = "Salted__";
const SALT_BYTES = 8;
const KEY_BYTES = 32;
const IV_BYTES = 16;

/**
 * Opens AES-256-CBC with a passphrase in OpenSSL's form: key and IV by EVP_BytesToKey with MD5 and
 * one round. It is weak and authenticates nothing, and is here only to read what others wrote.
 *
 * @returns undefined when the bytes don't have that form or the passphrase does not fit; a wrong one
 * fits by chance once in 256 times, so the caller has to check what comes out.
 */
export function openSalted(bytes: Buffer, passphrase: string): Buffer | undefined {
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
