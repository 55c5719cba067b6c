import { timingSafeEqual } from "node:crypto";

/** Key of the setting that holds the permanent admin token (docs/rest-contract.md, section 5). */
export const TOKEN_KEY = "token";
/** Length limits of a configured token, in characters. */
const TOKEN_MIN_LENGTH = 32;
const TOKEN_MAX_LENGTH = 512;

/** Random bytes of a generated token: 256 bits. */
const TOKEN_BYTES = 32;

/** @returns a new token, `mooring-` and 43 characters of base64url. */
export function generateToken(randomBytes: (size: number) => Buffer): string {
  return `mooring-${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/**
 * Checks a new token.
 *
 * @returns a description of the problem, never quoting the token; undefined when it is valid.
 */
export function checkToken(token: string): string | undefined {
  if (token.length < TOKEN_MIN_LENGTH)
    return `a token has at least ${TOKEN_MIN_LENGTH} characters (this one has ${token.length}); reset the token to get a random one`;
  if (token.length > TOKEN_MAX_LENGTH)
    return `a token has at most ${TOKEN_MAX_LENGTH} characters (this one has ${token.length})`;
  if (!/^[\x21-\x7e]+$/.test(token))
    return "a token consists of visible ASCII characters without spaces, because it is sent in a header";
  return undefined;
}

/** Compares tokens in constant time. An empty stored token equals nothing. */
export function tokenEquals(stored: string, sent: string): boolean {
  return stored !== "" && bytesEqual(Buffer.from(stored), Buffer.from(sent));
}

/**
 * Creates a {@link tokenEquals} for many comparisons with one stored token, whose bytes are cached.
 */
export function createTokenComparison(): (stored: string, sent: string) => boolean {
  let kept = { text: "", bytes: Buffer.alloc(0) };
  return (stored, sent) => {
    if (stored === "") return false;
    if (kept.text !== stored) kept = { text: stored, bytes: Buffer.from(stored) };
    return bytesEqual(kept.bytes, Buffer.from(sent));
  };
}

function bytesEqual(stored: Buffer, sent: Buffer): boolean {
  return stored.length === sent.length
    ? timingSafeEqual(stored, sent)
    : !timingSafeEqual(stored, stored);
}
