import { createHmac, randomBytes } from "node:crypto";
import { type LookupAddress, lookup as resolve } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { type Message, message, type Text } from "../../messages/message.ts";
import { connectionReason, plainMessage } from "../../sync/failure.ts";
import { trimEnd } from "../../trim-end.ts";
import type { WebhookRequest } from "./format/format.ts";

/** Time limit of one attempt, from the DNS look-up to the headers of the reply, in milliseconds. */
const LIMIT = 15_000;

/** Result of an attempt. */
export interface Attempt {
  /** HTTP status; 0: no reply. */
  readonly status: number;
  /** Empty: the target has accepted the message. */
  readonly error: Text;
}

/** Sends a message once; never rejects. */
export type Send = (outgoing: WebhookRequest, options?: SendReply) => Promise<Attempt>;

export interface SendReply {
  /** Members of a JSON reply that explain a refusal. */
  readonly reasonIn?: readonly string[];
  /** Texts that must not be shown. */
  readonly secrets?: readonly string[];
}

export interface SendOptions extends SendReply {
  /** Allows loopback, private, link-local and other addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Milliseconds; 15 s by default. */
  readonly limit?: number;
}

/**
 * Sends a message once. Redirects are not followed. Of a reply, only the reason of a refusal is
 * read (`reasonIn`), from at most 4 kB. Never rejects.
 *
 * The address is checked after the name was resolved, and the connection is opened to the checked
 * address, which prevents DNS rebinding.
 */
export async function sendOnce(
  { url, method, headers, body }: WebhookRequest,
  { allowPrivate, limit = LIMIT, reasonIn = [], secrets = [] }: SendOptions,
): Promise<Attempt> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, "");
  if (!allowPrivate && isIP(host) !== 0 && !isPublic(host))
    return { status: 0, error: privateError(host) };
  const ended = new AbortController();
  const { signal } = ended;
  const timer = setTimeout(() => ended.abort(), limit);
  const open = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise<Attempt>((settle) => {
    const request = open(target, {
      method,
      agent: false,
      signal,
      lookup: allowPrivate ? undefined : publicLookup,
      headers: {
        ...headers,
        "content-length": Buffer.byteLength(body),
        "user-agent": "mooring",
      },
    });
    const answer = (response: IncomingMessage): void => {
      const status = response.statusCode ?? 0;
      response.on("error", () => undefined);
      if (status >= 200 && status < 300) {
        response.destroy();
        settle({ status, error: "" });
        return;
      }
      void reasonOfReply(response, { reasonIn, secrets }).then((reason) =>
        settle({
          status,
          error:
            reason === "" ? statusError(status) : message("DELIVERY_REFUSED", { status, reason }),
        }),
      );
    };
    request.on("response", answer);
    // Without a listener for a protocol upgrade, Node closes the connection without an event.
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      answer(response);
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      const reason = signal.aborted
        ? message("DELIVERY_TIMEOUT", { seconds: limit / 1_000 })
        : reasonOf(error, target.protocol);
      settle({ status: 0, error: reason });
    });
    request.end(body);
  }).finally(() => clearTimeout(timer));
}

/** Maximum number of bytes of a reply that are read. */
const MAX_REPLY = 4_096;
const MAX_REASON = 200;

/** Reason of a refusal in a JSON reply, without secrets. Never rejects. */
async function reasonOfReply(
  response: IncomingMessage,
  { reasonIn, secrets }: Required<SendReply>,
): Promise<string> {
  try {
    if (reasonIn.length === 0) return "";
    let text = "";
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length > MAX_REPLY) return "";
    }
    const reply = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const reason = reasonIn.map((name) => reply?.[name]).find((each) => typeof each === "string");
    return plainMessage(String(reason ?? ""), secrets)
      .slice(0, MAX_REASON)
      .toWellFormed();
  } catch {
    return "";
  } finally {
    response.destroy();
  }
}

/** Global unicast addresses of IPv6 (RFC 4291, section 2.4, as IANA assigns them). */
const GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");

/** Reports whether an address is one of the public internet. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast") return false;
  if (!(parsed instanceof ipaddr.IPv6)) return true;
  // ISATAP: the last four bytes are an IPv4 address behind this prefix (RFC 5214, section 6.1).
  const [, , , , host = 0, mark] = parsed.parts;
  const isTunnel = (host & ~0x0200) === 0 && mark === 0x5efe;
  return parsed.match(GLOBAL) && !isTunnel;
}

class PrivateAddress extends Error {}

const publicLookup: LookupFunction = (name, options, answer) => {
  resolve(name, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error !== null) return answer(error, "", 0);
    // One private address is enough for a rejection.
    const wrong = addresses.find(({ address }) => !isPublic(address));
    if (wrong !== undefined) return answer(new PrivateAddress(name), "", 0);
    const [first] = addresses;
    if (options.all === true) return answer(null, addresses);
    return answer(null, first?.address ?? "", first?.family ?? 0);
  });
};

function privateError(host: string): Message {
  return message("ADDRESS_NOT_PUBLIC", { host });
}

function statusError(status: number): Text {
  return status >= 300 && status < 400
    ? message("DELIVERY_REDIRECTED", { status })
    : `HTTP ${status}`;
}

/** Message of an error without the address, which may contain a key. */
function reasonOf(error: NodeJS.ErrnoException, protocol: string): Text {
  if (error instanceof PrivateAddress) return privateError(error.message);
  return error.code === undefined
    ? message("DELIVERY_BROKEN")
    : message("DELIVERY_FAILED", { reason: connectionReason(error.code, protocol) ?? error.code });
}

const PREFIX = "whsec_";
/** Size of a generated key, and limits for a user's key, in bytes (Standard Webhooks 1.0). */
const KEY_BYTES = 32;
const MIN_BYTES = 24;
const MAX_BYTES = 64;
/** Maximum number of characters of a text that can be a key. */
const MAX_KEY = 200;

/** Generates a key for signatures: `whsec_` and base64. */
export function newKey(): string {
  return `${PREFIX}${randomBytes(KEY_BYTES).toString("base64")}`;
}

/** @returns the problem of a key; undefined: valid. */
export function keyProblem(key: string): Message | undefined {
  const text =
    key.startsWith(PREFIX) && key.length <= MAX_KEY
      ? trimEnd(key.slice(PREFIX.length), "=")
      : undefined;
  const bytes = text === undefined ? undefined : Buffer.from(text, "base64");
  if (bytes === undefined || trimEnd(bytes.toString("base64"), "=") !== text)
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
