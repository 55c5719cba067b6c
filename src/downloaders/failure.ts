import type { IncomingHttpHeaders } from "node:http";
import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { redact } from "../secrets/redact.ts";
import { showAddress } from "./address.ts";

/** Program in a message, with advice for the user. */
export interface Target {
  /** Name of the program, such as `aria2`. */
  readonly program: string;
  /** The address without user name, password and query. */
  readonly shown: string;
  /** Advice when nothing answers at the address. One or more sentences. */
  readonly reachable: Message;
  /** Advice when another program answers at the address. One sentence. */
  readonly recognizable: Message;
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** Texts that no message may contain. Empty ones are ignored. */
  readonly secrets: readonly string[];
}

/** The beginning of an HTTP reply. */
export interface ReplyHead {
  /** The requested address. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Stage of an exchange. A failure names its stage. */
export type Step = "DNS lookup" | "connect" | "TLS" | "reply";

/** Names of the stages, and what is done in them. */
const STEPS: Record<Step, { readonly name: Message; readonly doing: Message }> = {
  "DNS lookup": { name: message("STEP_DNS"), doing: message("DOING_DNS") },
  connect: { name: message("STEP_CONNECT"), doing: message("DOING_CONNECT") },
  TLS: { name: message("STEP_TLS"), doing: message("DOING_TLS") },
  reply: { name: message("STEP_REPLY"), doing: message("DOING_REPLY") },
};

/** Explanations of codes of Node, OpenSSL and ws for a person who entered an address. */
const MEANING: Readonly<Record<string, Message>> = {
  ENOTFOUND: message("MEANS_NAME_UNKNOWN"),
  EAI_AGAIN: message("MEANS_NAME_SERVER_SILENT"),
  ECONNREFUSED: message("MEANS_NOTHING_LISTENS"),
  EHOSTUNREACH: message("MEANS_NO_ROUTE_TO_HOST"),
  ENETUNREACH: message("MEANS_NO_ROUTE_TO_NETWORK"),
  ETIMEDOUT: message("MEANS_HOST_SILENT"),
  ECONNRESET: message("MEANS_CONNECTION_CLOSED"),
  EPIPE: message("MEANS_CONNECTION_CLOSED"),
  DEPTH_ZERO_SELF_SIGNED_CERT: message("MEANS_CERTIFICATE_SELF_SIGNED"),
  SELF_SIGNED_CERT_IN_CHAIN: message("MEANS_AUTHORITY_NOT_TRUSTED"),
  UNABLE_TO_GET_ISSUER_CERT: message("MEANS_AUTHORITY_NOT_TRUSTED"),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: message("MEANS_AUTHORITY_NOT_TRUSTED"),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: message("MEANS_AUTHORITY_NOT_TRUSTED"),
  CERT_HAS_EXPIRED: message("MEANS_CERTIFICATE_EXPIRED"),
  CERT_NOT_YET_VALID: message("MEANS_CERTIFICATE_EARLY"),
  ERR_TLS_CERT_ALTNAME_INVALID: message("MEANS_CERTIFICATE_OF_ANOTHER"),
  EPROTO: message("MEANS_PORT_WITHOUT_TLS"),
  ERR_SSL_WRONG_VERSION_NUMBER: message("MEANS_PORT_WITHOUT_TLS"),
  ERR_SSL_PACKET_LENGTH_TOO_LONG: message("MEANS_PORT_WITHOUT_TLS"),
  UNWANTED_UPGRADE: message("MEANS_REPLY_UPGRADES"),
  HPE_HEADER_OVERFLOW: message("MEANS_REPLY_HEADERS_TOO_LONG"),
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: message("MEANS_REPLY_TOO_LONG"),
};

/** Failure with a message of one sentence (program, address, problem) and the advice. */
export function failure(
  target: Target,
  code: Code,
  what: Message,
  advice: Message,
  cause?: unknown,
): ServiceError {
  const { program, shown: address } = target;
  const text = message("DOWNLOADER_FAILED", { program, address, what, advice });
  return new ServiceError(code, text, cause === undefined ? {} : { cause: scrub(cause) });
}

/**
 * Error that names the failed step of an exchange: DEADLINE_EXCEEDED after the time limit, CANCELED
 * by the caller, otherwise UNAVAILABLE. A ServiceError is returned unchanged.
 */
export function stepFailure(
  target: Target,
  step: Step,
  signal: AbortSignal,
  error: unknown,
): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!signal.aborted) {
    const code = errorCode(error);
    const meaning =
      plainClosed(target, code) ??
      MEANING[code] ??
      message(step === "reply" ? "MEANS_REPLY_NOT_UNDERSTOOD" : "MEANS_NO_SUCCESS");
    const what = message("STEP_FAILED", { step: STEPS[step].name, meaning, code });
    return failure(target, Code.Unavailable, what, advice(target, step), error);
  }
  if (isTimeUp(signal)) {
    const seconds = target.timeoutMs / 1000;
    const what = message("STEP_TIME_OUT", { seconds, doing: STEPS[step].doing });
    return failure(target, Code.DeadlineExceeded, what, advice(target, step));
  }
  const what = message("STEP_CANCELLED", { doing: STEPS[step].doing });
  return failure(target, Code.Canceled, what, message("ADVICE_AGAIN"));
}

/** Meaning of a closed connection without TLS: many TLS servers close it without a reply. */
function plainClosed({ shown }: Target, code: string): Message | undefined {
  const [, scheme] = /^(http|ws):/.exec(shown) ?? [];
  if (scheme === undefined || (code !== "ECONNRESET" && code !== "EPIPE")) return undefined;
  return message("MEANS_CONNECTION_CLOSED_PLAIN", { scheme: `${scheme}s` });
}

/** UNAVAILABLE: the reply exceeds the limit. */
export function tooLarge(target: Target, maxBytes: number): ServiceError {
  const what = message("REPLY_NOT_READ", { most: maxBytes });
  return failure(target, Code.Unavailable, what, target.recognizable);
}

/**
 * UNAVAILABLE for a status outside of the protocol. For a redirect, the message names its target.
 */
export function unexpectedStatus(target: Target, reply: ReplyHead): ServiceError {
  const { status, headers } = reply;
  if (status < 300 || status > 399) {
    const what = message("STATUS_UNEXPECTED", { status });
    return failure(target, Code.Unavailable, what, target.recognizable);
  }
  const place = redirectTarget(target, reply.url, headers.location ?? "");
  const what = message("STATUS_REDIRECT", { status, place });
  return failure(target, Code.Unavailable, what, message("ADVICE_REDIRECT"));
}

// The server chose this text: it may be invalid, or repeat the request.
function redirectTarget(target: Target, from: URL, location: string): string | Message {
  const url = URL.parse(location, from);
  if (url === null) return message("ANOTHER_ADDRESS");
  const shown = showAddress(url);
  return redact(shown, target.secrets) === shown ? shown : message("ANOTHER_ADDRESS");
}

function advice(target: Target, step: Step): Message {
  switch (step) {
    case "DNS lookup":
      return message("ADVICE_NAME");
    case "connect":
      return target.reachable;
    case "TLS":
      return message("ADVICE_TLS");
    case "reply":
      return message("ADVICE_REPLY", { recognizable: target.recognizable });
  }
}

/**
 * Error for the log with the code only: Node's errors contain sent or received data in members such
 * as `input` and `rawPacket`.
 */
function scrub(error: unknown): Error {
  return new Error(errorCode(error));
}

function errorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? code : "unknown";
}

/**
 * Runs work with a signal that is aborted after a time limit or by the caller. After the time limit
 * its reason is a `TimeoutError`. The timer ends when the returned promise settles.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(timeUp()), timeoutMs);
  const signal = caller === undefined ? time.signal : AbortSignal.any([caller, time.signal]);
  try {
    return await run(signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a promise; an aborted signal rejects with its reason at once. */
export async function abortable<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  start(resolve, reject);
  return await promise.finally(() => signal.removeEventListener("abort", giveUp));
}

/** Reports whether a signal was aborted by a time limit, not canceled. */
function isTimeUp(signal: AbortSignal): boolean {
  return signal.reason instanceof Error && signal.reason.name === "TimeoutError";
}

function timeUp(): DOMException {
  return new DOMException("the time limit has expired", "TimeoutError");
}
