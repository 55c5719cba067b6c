import { createCipheriv, createDecipheriv, type ScryptOptions, scrypt } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { createBoundedLock, type LockOptions } from "../bounded-lock.ts";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { unreadable } from "./readable.ts";

/** Minimum length of a passphrase for sealing, in characters. */
const MIN_PASSPHRASE = 8;

/** Cost of scrypt (RFC 7914): 128 MiB of memory and about 0.4 s for each guess. */
const SCRYPT_COST: Cost = { n: 2 ** 17, r: 8, p: 1 };
/**
 * Accepted scrypt costs of a document: at most 256 MiB, and at least enough to make guessing
 * expensive.
 */
const N_MIN = 2 ** 14;
const N_MAX = 2 ** 18;
const P_MAX = 4;
/** Maximum of n times p, which the time is proportional to: about 0.8 s. */
const WORK_MAX = 2 ** 18;
/** Maximum number of waiting seals, and of waiting opens. */
const MOST_WAITING = 8;
const SALT_BYTES = 16;
const SALT_MAX = 64;

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Sealed text (ciphertext and tag) with its parameters. Bytes are base64. */
export interface SealedText {
  readonly cipher: "aes-256-gcm";
  readonly kdf: "scrypt";
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
}

/** Seals text with a passphrase and opens it. */
export interface PassphraseCipher {
  /**
   * @param header - text that is bound to the sealed one: opening needs the same.
   * @throws INVALID_ARGUMENT when the passphrase has fewer than 8 characters.
   */
  seal(passphrase: string, plaintext: string, header: string): Promise<SealedText>;
  /** @throws INVALID_ARGUMENT when parameters are out of bounds, or the passphrase is wrong. */
  open(passphrase: string, sealed: SealedText, header: string): Promise<string>;
}

/**
 * Cipher of a process. One derivation runs at a time: each takes 128 MiB. Seals go first, because
 * the documents that are opened choose their cost. RESOURCE_EXHAUSTED when eight others of the
 * same kind wait.
 */
export interface SharedCipher extends PassphraseCipher {
  /** The cipher for a caller: a derivation that waits is cancelled when the signal aborts. */
  until(signal: AbortSignal): PassphraseCipher;
}

/** Derives a key of 32 bytes from a passphrase in NFC. */
export type DeriveKey = (passphrase: string, salt: Buffer, cost: Cost) => Promise<Buffer>;

/**
 * @param cost - cost of scrypt for new sealed text; default: about 0.4 s.
 * @param derive - default: in this process.
 */
export function createPassphraseCipher(
  randomBytes: (size: number) => Buffer,
  cost: Cost = SCRYPT_COST,
  derive: DeriveKey = deriveKey,
): SharedCipher {
  const derivations = createBoundedLock(
    MOST_WAITING,
    () => new ServiceError(Code.ResourceExhausted, message("SEALING_BUSY")),
  );
  const cipherUntil = (signal?: AbortSignal): PassphraseCipher => ({
    seal: async (passphrase, plaintext, header) => {
      // A character has at most two code units; the rest of a long text is not split.
      if ([...passphrase.slice(0, 2 * MIN_PASSPHRASE)].length < MIN_PASSPHRASE)
        throw unreadable(message("PASSPHRASE_TOO_SHORT", { least: MIN_PASSPHRASE }));
      const salt = randomBytes(SALT_BYTES);
      const nonce = randomBytes(NONCE_BYTES);
      const key = await keyFor({ passphrase, salt, cost }, { priority: "high", signal });
      const envelope = {
        cipher: CIPHER,
        kdf: "scrypt",
        ...cost,
        salt: salt.toString("base64"),
        nonce: nonce.toString("base64"),
      } as const;
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(boundTo(envelope, header));
      key.fill(0);
      const sealed = [cipher.update(plaintext, "utf8"), cipher.final(), cipher.getAuthTag()];
      return { ...envelope, sealed: Buffer.concat(sealed).toString("base64") };
    },
    open: async (passphrase, envelope, header) => {
      const { salt, nonce, sealed, ...read } = readEnvelope(envelope);
      const key = await keyFor({ passphrase, salt, cost: read.cost }, { signal });
      const tagAt = sealed.length - TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(boundTo(envelope, header))
        .setAuthTag(sealed.subarray(tagAt));
      key.fill(0);
      try {
        const opened = [decipher.update(sealed.subarray(0, tagAt)), decipher.final()];
        return Buffer.concat(opened).toString("utf8");
      } catch {
        throw unreadable(message("PASSPHRASE_WRONG"));
      }
    },
  });
  // NFC unifies a passphrase that different systems enter as different code points.
  const keyFor = (
    { passphrase, salt, cost }: { passphrase: string; salt: Buffer; cost: Cost },
    options: LockOptions,
  ): Promise<Buffer> =>
    derivations.run(() => derive(passphrase.normalize("NFC"), salt, cost), options);
  return { ...cipherUntil(), until: cipherUntil };
}

/** Parameters of scrypt: N, r and p of RFC 7914. */
export interface Cost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

/** Derives a key by scrypt in this process. */
export const deriveKey: DeriveKey = (passphrase, salt, { n, r, p }) => {
  const options: ScryptOptions = { N: n, r, p, maxmem: 128 * r * (n + p) + 2 ** 20 };
  return new Promise((resolve, reject) =>
    scrypt(passphrase, salt, 32, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    ),
  );
};

function boundTo(envelope: Omit<SealedText, "sealed">, header: string): Buffer {
  const { cipher, kdf, n, r, p, salt, nonce } = envelope;
  return Buffer.from(JSON.stringify([cipher, kdf, n, r, p, salt, nonce, header]));
}

function readEnvelope(envelope: SealedText) {
  const { cipher, kdf, n, r, p } = envelope;
  if (cipher !== CIPHER || kdf !== "scrypt") throw unreadable(message("SEALING_UNKNOWN"));
  const inBounds = Number.isInteger(Math.log2(n)) && n >= N_MIN && n <= N_MAX && r === 8;
  if (!inBounds || !Number.isInteger(p) || p < 1 || p > P_MAX || n * p > WORK_MAX)
    throw unreadable(
      message("SEALING_COST_REFUSED", { n, r, p, least: N_MIN, most: N_MAX, parallel: P_MAX }),
    );
  const salt = Buffer.from(envelope.salt, "base64");
  const nonce = Buffer.from(envelope.nonce, "base64");
  const sealed = Buffer.from(envelope.sealed, "base64");
  const sized =
    salt.length >= SALT_BYTES && salt.length <= SALT_MAX && nonce.length === NONCE_BYTES;
  if (!sized || sealed.length < TAG_BYTES) throw unreadable(message("SEALING_INCOMPLETE"));
  return { cost: { n, r, p }, salt, nonce, sealed };
}
