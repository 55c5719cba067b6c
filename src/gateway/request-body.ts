import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { HttpFault, quote } from "./fault.ts";

/** How many times the limit a client may go on sending after it was refused, before it is cut off. */
const PATIENCE = 8;

/**
 * Whether a request announces a body: by its headers (RFC 9112, section 6.3), over HTTP/2 by not
 * ending with them.
 */
export function announcesBody(request: IncomingMessage): boolean {
  const { headers } = request;
  if (request.httpVersionMajor >= 2) {
    return !(request as unknown as Http2ServerRequest).stream.endAfterHeaders;
  }
  if (headers["transfer-encoding"] !== undefined) return true;
  return headers["content-length"] !== undefined && headers["content-length"] !== "0";
}

/**
 * Reads a request's body to its end, up to `limit` bytes.
 *
 * @throws HttpFault 413 as soon as the limit is passed. What the client goes on sending is thrown
 * away, so that it can read the reply; its connection ends when it doesn't stop.
 * @throws CANCELED when the client goes away before the end.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    reject(tooLarge(limit));
    if (size > limit * PATIENCE) request.destroy();
  });
  request.on("end", () => resolve(Buffer.concat(chunks)));
  request.on("error", () => reject(goneAway()));
  request.on("close", () => reject(goneAway()));
  return promise;
}

/** @throws HttpFault 415 unless the body is JSON as far as its headers say; no type counts as JSON. */
export function checkJsonType(request: IncomingMessage): void {
  const type = request.headers["content-type"] ?? "";
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (essence !== "" && essence !== "application/json") {
    throw new HttpFault(415, `the body must be application/json, not ${quote(essence)}`);
  }
  const coding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding !== "identity" && coding !== "") {
    const message = `the body must not be compressed (Content-Encoding ${quote(coding)})`;
    throw new HttpFault(415, message, ["Accept-Encoding", "identity"]);
  }
}

function tooLarge(limit: number): HttpFault {
  return new HttpFault(413, `the body is larger than ${limit} bytes`);
}

function goneAway(): ConnectError {
  return new ConnectError("the client went away before the end of its body", Code.Canceled);
}
