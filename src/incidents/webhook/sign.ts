import { createHmac, randomBytes } from "node:crypto";
import { type Message, message } from "../../messages/message.ts";

const PREFIX = "whsec_";
/** Size of a generated key, and limits for a user's key, in bytes (Standard Webhooks 1.0). */
const KEY_BYTES = 32;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Generates a key for signatures: `whsec_` and base64. */
export function newKey(): string {
  return `${PREFIX}${randomBytes(KEY_BYTES).toString("base64")}`;
}

/** @returns the problem of a key; undefined: valid. */
export function keyProblem(key: string): Message | undefined {
  const text = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
  const bytes = text === undefined ? undefined : Buffer.from(text, "base64");
  if (
    bytes === undefined ||
    bytes.toString("base64").replace(/=+$/, "") !== text?.replace(/=+$/, "")
  )
    return message("WEBHOOK_SECRET_INVALID");
  return bytes.length < MIN_BYTES || bytes.length > MAX_BYTES
    ? message("WEBHOOK_SECRET_LENGTH", { least: MIN_BYTES, most: MAX_BYTES })
    : undefined;
}

/**
 * Headers of a signed message as Standard Webhooks 1.0 defines them: HMAC-SHA256 over id, timestamp and
 * body, separated by full stops.
 *
 * @param time milliseconds since 1970 UTC.
 */
export function signedHeaders(
  key: string,
  { id, time, body }: { readonly id: string; readonly time: number; readonly body: string },
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const seconds = String(Math.floor(time / 1_000));
  const signature = createHmac("sha256", Buffer.from(key.slice(PREFIX.length), "base64"))
    .update(`${id}.${seconds}.${body}`)
    .digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
}
