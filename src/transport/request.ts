import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import { discardRest } from "./body.ts";

/** The HTTP/2 stream of a request; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}

/**
 * Reports whether a request announces a body: by its headers (RFC 9112, section 6.3), over HTTP/2
 * by a missing END_STREAM flag.
 */
export function announcesBody(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  if (headers["transfer-encoding"] !== undefined) return true;
  return headers["content-length"] !== undefined && headers["content-length"] !== "0";
}

/**
 * Reports whether a request is complete, at its event `end`: over HTTP/2 Node emits that, with
 * `complete`, also when the stream was reset or its connection is lost.
 */
export function hasEnded(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream === undefined) return request.complete;
  return !(stream.closed || stream.destroyed || stream.aborted);
}

/**
 * Discards the rest of a request's body before an early reply, so that the client reads the reply;
 * above the limits of discardRest the connection is closed.
 */
export function leaveRest(request: IncomingMessage): void {
  if (!announcesBody(request) || request.readableEnded) return;
  const stream = streamOf(request);
  // Over HTTP/2 the client gets RST_STREAM(NO_ERROR) (RFC 9113, section 8.1).
  discardRest(request, () => {
    if (stream) stream.close(constants.NGHTTP2_NO_ERROR);
    else request.socket.destroy();
  });
  if (stream === undefined) closeAfterRest(request);
}

const LEAVES = Symbol("leaves the rest");

/**
 * Drains the unread body of a request that is answered early. This is checked when the reply ends,
 * because over HTTP/2 a reply without a body emits no event.
 */
export function drainUnreadBody(
  request: IncomingMessage,
  response: ServerResponse & { [LEAVES]?: true },
): void {
  // The gateway calls it for its routes, and the HTTP server for all requests.
  if (response[LEAVES] || !announcesBody(request)) return;
  response[LEAVES] = true;
  const { end } = response;
  // A constant first: V8 allocates a function that is assigned to a property as it is created in old
  // space, where it keeps request and response until the next full garbage collection.
  const endAndLeave = (...rest: unknown[]): ServerResponse => {
    // Restored, not deleted: deleting a property makes an object slow.
    response.end = end;
    leaveRest(request);
    return response.end(...(rest as []));
  };
  response.end = endAndLeave;
}

/** Creates a listener that answers with a status and no body. */
export function refuseWith(status: number) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    drainUnreadBody(request, response);
    response.writeHead(status).end();
  };
}

/**
 * Makes Node close its side first when it ends a connection after this request. If it closed the
 * connection with unread bytes, the system would reset it, and the client might lose the reply (RFC
 * 9112, section 9.6).
 */
function closeAfterRest(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => void socket.end();
  request.once("end", () => {
    Reflect.deleteProperty(socket, "destroySoon");
    if (socket.writableEnded) socket.destroySoon();
  });
}

/** Reports whether the client has disconnected. */
export function isGone(request: IncomingMessage): boolean {
  return (streamOf(request) ?? request.socket).destroyed;
}

/** Path and query of a request target, which may be in absolute-form (RFC 9112, section 3.2.2). */
export function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
}
