import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { announcesBody, leaveRest } from "./request.ts";

/** A whole reply. */
export interface WholeReply {
  /** Includes `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a reply whose request may be unread; to HEAD without the body. */
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
  // A reply that could not be sent may have left headers.
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
