import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { cutOff } from "../transport/whole-reply.ts";
import { type Done, takeReads } from "./reading.ts";

/** Minimum size of a reply that takes over its connection, in bytes. */
const LONG = 4 * 1024 * 1024;

/**
 * Sends a long body of known length from the upstream's connection, in pieces of up to two
 * megabytes: each is read while the previous one is written. The connection ends with it.
 *
 * Called at the event `response`, after the reply's headers are written.
 *
 * @returns false if the reply does not qualify: nothing was done.
 */
export function sendLong(
  call: ClientRequest,
  reply: IncomingMessage,
  response: ServerResponse,
): boolean {
  const length = lengthOf(call, reply);
  if (length < LONG) return false;
  let left = length;
  const send = (bytes: Buffer, done: Done): void => {
    // Bytes beyond the announced length are not part of the reply.
    const part = bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= part.length;
    response.write(part, done);
    if (left > 0) return;
    response.end();
    call.destroy();
  };
  const socket = takeReads(call, send);
  if (socket === undefined) return false;
  const onEnd = (): void => {
    if (left > 0) cutOff(response);
  };
  reply.on("error", onEnd).once("close", onEnd);
  // Bytes read together with the headers are in Node's parser until the end of its tick.
  process.nextTick(() => {
    const first = reply.read() as Buffer | null;
    if (first !== null) send(first, () => undefined);
    socket.resume();
  });
  return true;
}

/** Length of a body with a known length and without chunked coding (RFC 9112, section 6.3). */
function lengthOf({ method }: ClientRequest, { statusCode, headers }: IncomingMessage): number {
  const hasBody = method === "GET" && (statusCode === 200 || statusCode === 206);
  if (!hasBody || headers["transfer-encoding"] !== undefined) return 0;
  return Number(headers["content-length"] ?? 0);
}
