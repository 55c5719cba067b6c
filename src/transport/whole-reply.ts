import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { announcesBody, leaveRest } from "./request.ts";

/** Complete reply. */
export interface WholeReply {
  /** Includes `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a complete reply, also while the request's body is unread; without the body to HEAD. */
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
  // A reply that failed earlier may have set headers.
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

/** Aborts a reply, so that it does not look complete (RFC 9113, section 8.1). */
export function cutOff(response: ServerResponse): void {
  const { stream } = response as unknown as Partial<Http2ServerResponse>;
  if (response.req.httpVersionMajor === 1 || stream === undefined) response.destroy();
  else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}
