import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import { discardRest } from "./body.ts";

/** The HTTP/2 stream of a request; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}

/**
 * Whether a request announces a body: by its headers (RFC 9112, section 6.3), over HTTP/2 by not
 * ending with them.
 */
export function announcesBody(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  if (headers["transfer-encoding"] !== undefined) return true;
  return headers["content-length"] !== undefined && headers["content-length"] !== "0";
}

/**
 * Whether a request has come to its end, asked at its event `end`: over HTTP/2 Node emits that, and
 * says `complete`, also when the stream was reset or its connection is gone.
 */
export function hasEnded(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream === undefined) return request.complete;
  return !(stream.closed || stream.destroyed || stream.aborted);
}

/**
 * For a reply that does not wait for its request's body, before it is sent: what still comes of the
 * body is thrown away, so that its client reads the reply; one that goes on and on, or says nothing
 * more, is cut off (discardRest has the bounds).
 */
export function leaveRest(request: IncomingMessage): void {
  if (!announcesBody(request) || request.readableEnded) return;
  const stream = streamOf(request);
  // Over HTTP/2 a client learns that nobody wants the rest (RFC 9113, section 8.1).
  discardRest(request, () => {
    if (stream) stream.close(constants.NGHTTP2_NO_ERROR);
    else request.socket.destroy();
  });
  if (stream === undefined) closeAfterRest(request);
}

const LEAVES = Symbol("leaves the rest");

/**
 * Leaves the rest of a request that is answered before its end: looked at when the reply's end is given,
 * since over HTTP/2 no event tells of it when there is no body to send.
 */
export function leaveOnceAnswered(
  request: IncomingMessage,
  response: ServerResponse & { [LEAVES]?: true },
): void {
  // The gateway asks for it wherever it serves, and our own server for whatever it serves.
  if (response[LEAVES] || !announcesBody(request)) return;
  response[LEAVES] = true;
  const { end } = response;
  response.end = (...rest: unknown[]) => {
    // Not taken away: an object that loses a member becomes slow.
    response.end = end;
    leaveRest(request);
    return response.end(...(rest as []));
  };
}

/** Makes a listener that answers with a status alone. */
export function refuseWith(status: number) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    leaveOnceAnswered(request, response);
    response.writeHead(status).end();
  };
}

/**
 * Lets Node end a connection after this request by closing its own side first. Closed as a whole with
 * bytes unread, the system would reset it, and the client might lose the reply (RFC 9112, section 9.6).
 */
function closeAfterRest(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => void socket.end();
  request.once("end", () => {
    Reflect.deleteProperty(socket, "destroySoon");
    if (socket.writableEnded) socket.destroySoon();
  });
}

/** Whether nobody waits for the reply any more. */
export function isGone(request: IncomingMessage): boolean {
  return (streamOf(request) ?? request.socket).destroyed;
}

/** A request target may be a whole URL (RFC 9112, section 3.2.2). */
export function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
}
