import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";

/** What becomes of a request's body: one of the two is called, once. */
export interface BodyReader {
  /** It is there to its end. */
  take(body: Buffer): void;
  /** It is larger than the limit. */
  refuse(): void;
}

/** How many times the limit a client may go on sending after it was refused, before it is cut off. */
const PATIENCE = 8;

/**
 * Reads a request's body up to `limit` bytes. What a client sends beyond it is thrown away, so that it
 * can read the reply. When the client goes away before the end, nothing is called.
 */
export function readBody(request: Readable, limit: number, reader: BodyReader): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("error", ignore);
  request.on("data", (chunk: Buffer) => {
    const before = size;
    size += chunk.length;
    if (size <= limit) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    if (before <= limit) reader.refuse();
    else if (size > limit * PATIENCE) request.destroy();
  });
  request.on("end", () => {
    if (size <= limit) reader.take(joined(chunks.splice(0)));
  });
}

/** What a client is told whose request is larger than the limit, in bytes. */
export function tooLarge(limit: number): ConnectError {
  return new ConnectError(`the request is larger than ${limit} bytes`, Code.ResourceExhausted);
}

/** A client that goes away is nobody's failure. */
function ignore(): void {}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
}
