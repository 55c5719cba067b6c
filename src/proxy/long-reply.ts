import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { cutOff } from "../transport/whole-reply.ts";
import { type Done, takeReads } from "./reading.ts";

/** Bytes from which a reply is worth a connection of its own. */
const LONG = 4 * 1024 * 1024;

/**
 * Sends a long body of a known length from the connection to the server behind, in pieces of up to two
 * megabytes: each is read while the one before it is written. The connection ends with it.
 *
 * Asked at the event `response`, when the reply's head is written.
 *
 * @returns false where the reply is none of these: nothing was done.
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
    // What a server sends beyond the length that it has said is no part of the reply.
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
  // What came in one read with the head is with Node's parser, which has it whole at the end of its turn.
  process.nextTick(() => {
    const first = reply.read() as Buffer | null;
    if (first !== null) send(first, () => undefined);
    socket.resume();
  });
  return true;
}

/** Bytes of a body whose length was said and which is not in pieces (RFC 9112, section 6.3). */
function lengthOf({ method }: ClientRequest, { statusCode, headers }: IncomingMessage): number {
  const hasBody = method === "GET" && (statusCode === 200 || statusCode === 206);
  if (!hasBody || headers["transfer-encoding"] !== undefined) return 0;
  return Number(headers["content-length"] ?? 0);
}
