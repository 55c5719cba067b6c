import type { IncomingMessage, ServerResponse } from "node:http";
import { errorEnvelope, JSON_TYPE } from "../gateway/envelope.ts";
import { sendWhole } from "../transport/whole-reply.ts";

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
