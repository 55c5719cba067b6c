import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { errorEnvelope, JSON_TYPE } from "../gateway/envelope.ts";
import { announcesBody, leaveRest } from "../transport/request.ts";

/**
 * Answers a request that does not reach the upstream.
 *
 * @param own headers of the reply.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  own: Readonly<Record<string, string>> = {},
): void {
  sendWhole(request, response, status, {
    headers: { "content-type": JSON_TYPE, ...own },
    body: errorEnvelope(status, message),
  });
}

/** A reply of this service to a request that does not reach the upstream. */
interface WholeReply {
  /** With `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a reply whose request may not have been read; to HEAD without the body. */
export function sendWhole(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  { headers, body }: WholeReply,
): void {
  if (announcesBody(request) && !request.complete) {
    if (request.httpVersionMajor === 1) response.shouldKeepAlive = false;
    leaveRest(request);
  }
  // Of a reply that could not be sent something may stand there already.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  if (request.httpVersionMajor === 1) response.statusMessage = "";
  response
    .writeHead(status, {
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "no-store",
      ...headers,
    })
    .end(request.method === "HEAD" ? "" : body);
}

/** Ends a reply in the middle, so that it does not look whole (RFC 9113, section 8.1). */
export function cutOff(response: ServerResponse): void {
  const { stream } = response as unknown as Partial<Http2ServerResponse>;
  if (response.req.httpVersionMajor === 1 || stream === undefined) response.destroy();
  else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}
