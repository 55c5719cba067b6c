import type { IncomingHttpHeaders } from "node:http";
import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { redact } from "../secrets/redact.ts";
import { showAddress } from "./address.ts";

/** Program in a message, with advice for the user. */
export interface Target {
  /** Name of the program, such as `aria2`. */
  readonly program: string;
  /** The address without user name, password and query. */
  readonly shown: string;
  /** Advice when nothing answers at the address. One or more sentences. */
  readonly reachable: string;
  /** Advice when another program answers at the address. One sentence. */
  readonly recognizable: string;
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

const WHILE: Record<Step, string> = {
  "DNS lookup": "looking up the host name",
  connect: "connecting",
  TLS: "agreeing on TLS",
  reply: "waiting for the reply",
};

/** Explanations of codes of Node, OpenSSL and ws for a person who entered an address. */
const MEANING: Readonly<Record<string, string>> = {
  ENOTFOUND: "this host name is unknown",
  EAI_AGAIN: "the name server does not answer",
  ECONNREFUSED: "connection refused, nothing listens there",
  EHOSTUNREACH: "there is no route to this host",
  ENETUNREACH: "there is no route to this network",
  ETIMEDOUT: "the host does not answer",
  ECONNRESET: "the connection was closed",
  EPIPE: "the connection was closed",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate's authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's authority is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate's authority is not trusted",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  EPROTO: "this port does not use TLS",
  ERR_SSL_WRONG_VERSION_NUMBER: "this port does not use TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "this port does not use TLS",
  UNWANTED_UPGRADE: "the reply changes to another protocol",
  HPE_HEADER_OVERFLOW: "the reply's headers are too long",
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: "the reply is too long",
};

/** Failure with a message of one sentence (program, address, problem) and the advice. */
export function failure(
  target: Target,
  code: Code,
  what: string,
  advice: string,
  cause?: unknown,
): ServiceError {
  const message = `${target.program} at ${target.shown}: ${what}. ${advice}`;
  return new ServiceError(code, message, cause === undefined ? {} : { cause: scrub(cause) });
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
    const meaning = MEANING[code] ?? (step === "reply" ? "not understood" : "no success");
    const what = `${step} failed: ${meaning} (${code})`;
    return failure(target, Code.Unavailable, what, advice(target, step), error);
  }
  if (isTimeUp(signal)) {
    const what = `time-out: ${target.timeoutMs / 1000} s expired while ${WHILE[step]}`;
    return failure(target, Code.DeadlineExceeded, what, advice(target, step));
  }
  return failure(target, Code.Canceled, `cancelled while ${WHILE[step]}`, "Try again.");
}

/** UNAVAILABLE: the reply exceeds the limit. */
export function tooLarge(target: Target, maxBytes: number): ServiceError {
  const what = `the reply is longer than ${maxBytes} bytes and was not read further`;
  return failure(target, Code.Unavailable, what, target.recognizable);
}

/**
 * UNAVAILABLE for a status outside of the protocol. For a redirect, the message names its target.
 */
export function unexpectedStatus(target: Target, reply: ReplyHead): ServiceError {
  const { status, headers } = reply;
  if (status < 300 || status > 399) {
    return failure(target, Code.Unavailable, `HTTP status ${status}`, target.recognizable);
  }
  const to = redirectTarget(target, reply.url, headers.location ?? "");
  const what = `HTTP status ${status}: redirected to ${to}`;
  return failure(target, Code.Unavailable, what, "Redirects are not followed: give that address.");
}

// The server chose this text: it may be invalid, or repeat the request.
function redirectTarget(target: Target, from: URL, location: string): string {
  const url = URL.parse(location, from);
  if (url === null) return "another address";
  const shown = showAddress(url);
  return redact(shown, target.secrets) === shown ? shown : "another address";
}

function advice(target: Target, step: Step): string {
  switch (step) {
    case "DNS lookup":
      return "Check the spelling; a container resolves only host names of its own network.";
    case "connect":
      return target.reachable;
    case "TLS":
      return (
        "Check the scheme (without TLS it is http or ws); for a certificate that is not publicly " +
        "trusted, name a file with its authority in NODE_EXTRA_CA_CERTS."
      );
    case "reply":
      return `${target.recognizable} Check also whether this port expects TLS (https or wss).`;
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
