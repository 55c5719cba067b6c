import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { deriveSealingKey } from "./sealer.ts";

const MIN_KEY_BYTES = 32;
/** Prefix of a hash whose key is stored beside it, in a database without a sealing key. */
const STORED = "hmac1:";
/** Prefix of a hash whose key is derived from a sealing key: `hmac2:<key id>:`. */
const DERIVED = /^hmac2:([0-9a-f]{12}):(past:)?/;
/** Mark of a hash made with an earlier key, which values cannot be compared with. */
const PAST = "past:";

/** Keyed hashes in place of secret values, in the history and in the state of sites. */
export interface Fingerprint {
  /** Whether the key of new hashes is derived from a sealing key. */
  readonly seals: boolean;
  /** Prefix of all hashes made with the current key, including those returned by `renew`. */
  readonly form: string;
  /** The hash of a value: equal for equal values. */
  of(value: string): string;
  /** Reports whether a stored hash is of a value; undefined: its key is unknown. */
  isOf(hash: string, value: string): boolean | undefined;
  /**
   * The hash to store in place of another one: equal for equal hashes. Values can be compared with it if
   * the other hash was made without a sealing key, and not if it was made with another sealing key.
   */
  renew(hash: string): string;
}

/**
 * Creates the keyed hash of secret values (HMAC-SHA-256, RFC 2104). With a sealing key the hash is
 * keyed again, with a key that HKDF derives from it, so that guesses cannot be tested on a copy of
 * the database alone. Without a sealing key the database has the secrets in the clear.
 *
 * @param key at least 32 random bytes, stored with the history.
 * @param sealingKeys as for `deriveSealingKey`: the first one makes hashes, all of them compare.
 * @throws Error when the key is too short; FAILED_PRECONDITION when a sealing key is.
 */
export function createFingerprint(
  key: Buffer,
  sealingKeys: readonly (string | KeyObject)[] = [],
): Fingerprint {
  if (key.length < MIN_KEY_BYTES)
    throw new Error(`the key of the history's hashes has ${key.length} bytes, fewer than 32`);
  const stored = createSecretKey(key);
  const derived = sealingKeys.map((configured, at) => {
    const { id, fingerprintKey } = deriveSealingKey(configured, at + 1);
    return { id, secret: fingerprintKey(key) };
  });
  const byId = new Map(derived.map(({ id, secret }) => [id, secret]));
  const [first] = derived;
  const plain = (value: string): string => STORED + digest(stored, value);
  if (first === undefined)
    return {
      seals: false,
      form: STORED,
      of: plain,
      isOf: (hash, value) => (hash.startsWith(STORED) ? isSame(hash, plain(value)) : undefined),
      renew: (hash) => hash,
    };
  const form = `hmac2:${first.id}:`;
  return {
    seals: true,
    form,
    of: (value) => form + digest(first.secret, plain(value)),
    isOf: (hash, value) => {
      if (hash.startsWith(STORED)) return isSame(hash, plain(value));
      const [prefix = "", id = "", past] = DERIVED.exec(hash) ?? [];
      const secret = byId.get(id);
      if (secret === undefined || past !== undefined) return undefined;
      return isSame(hash, prefix + digest(secret, plain(value)));
    },
    renew: (hash) => {
      if (hash.startsWith(form)) return hash;
      return form + (hash.startsWith(STORED) ? "" : PAST) + digest(first.secret, hash);
    },
  };
}

function digest(secret: KeyObject, text: string): string {
  return createHmac("sha256", secret).update(text, "utf8").digest("base64url");
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
