import type { IncomingMessage, ServerResponse } from "node:http";
import { errorEnvelope, JSON_TYPE } from "../envelope.ts";
import { announcesBody, leaveRest } from "../request.ts";

/** Answers a request that does not reach the server behind. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
): void {
  if (announcesBody(request) && !request.complete) {
    if (request.httpVersionMajor === 1) response.shouldKeepAlive = false;
    leaveRest(request);
  }
  const body = errorEnvelope(status, message);
  response
    .writeHead(status, {
      "content-type": JSON_TYPE,
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "no-store",
    })
    .end(request.method === "HEAD" ? "" : body);
}
