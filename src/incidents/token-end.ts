import { itemKind } from "../mounts/site/item-kind.ts";
import type { Addition } from "../mounts/site/row.ts";

/** Time between the opening of an incident and the token's expiry, in milliseconds. */
const NOTICE = 3 * 86_400_000;
/** Three parts in base64url (RFC 7519). */
const TOKEN = /^(?:Bearer )?([\w-]+)\.([\w-]+)\.[\w-]*$/;
/** Maximum length of a token in characters. */
const MAX_LENGTH = 16_384;

/** Token of a mount that expires soon, or has expired. */
export interface TokenEnd {
  readonly item: string;
  /** Milliseconds since 1970 UTC. */
  readonly expires: number;
}

/**
 * Finds the first token (JWT) of a mount that expires within three days. Access tokens that the
 * server refreshes by itself are ignored: only refresh tokens and items that users enter are
 * checked.
 */
export function tokenEnd(driver: string, addition: Addition, now: number): TokenEnd | undefined {
  let first: TokenEnd | undefined;
  for (const [item, value] of Object.entries(addition)) {
    if (typeof value !== "string") continue;
    if (itemKind(driver, item) !== "declared" && !/refresh/i.test(item)) continue;
    const expires = expiryOf(value);
    if (expires === undefined || expires > now + NOTICE) continue;
    if (first === undefined || expires < first.expires) first = { item, expires };
  }
  return first;
}

/** The `exp` claim of a JWT in milliseconds since 1970 UTC; undefined: the text is not a JWT, or has no `exp`. */
export function expiryOf(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, head, body] = TOKEN.exec(text.trim()) ?? [];
  if (head === undefined || body === undefined) return undefined;
  if (typeof jsonOf(head)?.["alg"] !== "string") return undefined;
  const seconds = jsonOf(body)?.["exp"];
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0
    ? Math.trunc(seconds * 1_000)
    : undefined;
}

function jsonOf(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return value !== null && typeof value === "object"
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
