import type { IncomingMessage, ServerResponse } from "node:http";
import { errorEnvelope, JSON_TYPE } from "../envelope.ts";

/** How long a client may go on sending what nobody reads any more, in milliseconds. */
const LINGER = 500;

/** Answers a request that does not reach the server behind. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
): void {
  if (announcesBody(request) && !request.complete) closeAfter(request, response);
  request.resume();
  const body = errorEnvelope(status, message);
  response
    .writeHead(status, {
      "content-type": JSON_TYPE,
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "no-store",
    })
    .end(request.method === "HEAD" ? "" : body);
}

/**
 * For a reply that comes before the request has ended: the connection can't be used again.
 *
 * @param stop passes no more of the request's body.
 */
export function closeAfter(
  request: IncomingMessage,
  response: ServerResponse,
  stop = (): void => {},
): void {
  if (request.httpVersionMajor !== 1) return;
  response.shouldKeepAlive = false;
  response.once("finish", () => {
    if (request.complete) return;
    stop();
    request.resume();
    setTimeout(() => request.socket.destroy(), LINGER).unref();
  });
}

/** Whether a request says that it has a body. */
export function announcesBody(request: IncomingMessage): boolean {
  const { headers, httpVersionMajor } = request;
  if (httpVersionMajor !== 1) {
    const { stream } = request as unknown as { stream?: { readonly endAfterHeaders: boolean } };
    return stream?.endAfterHeaders !== true;
  }
  return headers["transfer-encoding"] !== undefined || headers["content-length"] !== undefined;
}
