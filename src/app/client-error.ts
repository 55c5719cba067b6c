import type { Socket } from "node:net";
import { errorEnvelope } from "../gateway/failure.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";

/** Time that a client may continue to send after the reply, in milliseconds. */
const LINGER = 1_000;

/** Node's error for a request that it could not parse. */
export interface ClientError extends Error {
  readonly code?: string;
}

/**
 * Answers a request that is invalid HTTP, has a too large URL or headers, or is too slow: for the event
 * `clientError` of a node:http server and Fastify's option `clientErrorHandler`. The reply has the HTTP
 * status and the envelope. The connection is closed when the client has stopped sending, so that it can
 * read the reply, and at the latest after LINGER.
 *
 * @param requestId for the reply's `x-request-id`; without one it has none.
 */
export function answerClientError(error: ClientError, socket: Socket, requestId?: string): void {
  // Further invalid data is reported here again.
  if (socket.writableEnded) return;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  answer(socket, describe(error), requestId);
}

/**
 * Answers CONNECT over HTTP/1.1, for the event `connect` of a node:http server: Node closes the
 * connection without a reply if the event has no listener. This service is no proxy (RFC 9110, section 9.3.6).
 */
export function answerConnect(socket: Socket, requestId: string): void {
  socket.on("error", () => socket.destroy());
  answer(socket, NO_PROXY, requestId);
}

function answer(
  socket: Socket,
  { status, reason, message }: Answer,
  requestId: string | undefined,
): void {
  const body = errorEnvelope(status, message);
  const headers = [
    `HTTP/1.1 ${status} ${reason}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    ...(requestId === undefined ? [] : [`X-Request-Id: ${requestId}`]),
    "Connection: close",
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), LINGER).unref();
  socket.once("close", () => clearTimeout(timer));
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

/** Node counts URL and headers together. */
const HEADERS: Answer = {
  status: 431,
  reason: "Request Header Fields Too Large",
  message: "the request's URL and headers are too large",
};

const TIMEOUT: Answer = {
  status: 408,
  reason: "Request Timeout",
  message: "the request took too long to arrive",
};

const NO_PROXY: Answer = {
  status: 400,
  reason: "Bad Request",
  message: "CONNECT is not supported: this server is not a proxy",
};

const NOT_HTTP: Answer = { status: 400, reason: "Bad Request", message: "invalid HTTP request" };

/** Node accepts only ASCII in targets (RFC 9112, section 3.2; RFC 3986, section 2). */
const TARGET: Answer = {
  status: 400,
  reason: "Bad Request",
  message:
    'the request\'s URL has a character that must be percent-encoded, such as %C3%BC for "ü"',
};

function describe(error: ClientError): Answer {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return TIMEOUT;
  if (error.code === "HPE_INVALID_URL") return TARGET;
  if (error.code === "HPE_HEADER_OVERFLOW") return HEADERS;
  return NOT_HTTP;
}
