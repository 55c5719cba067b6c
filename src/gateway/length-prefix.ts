import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { memoize } from "../memoize.ts";
import { BadRequest, bodyTooLarge } from "../transport/body.ts";
import { type BodyPieces, readFrames } from "../transport/body-pieces.ts";

/** Bytes before a message: flags and the length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX_LENGTH = 5;

/** The message is compressed (gRPC, gRPC-Web and Connect alike). */
export const COMPRESSED = 1;

/** Decompressor of requests. */
export type Decompress = (body: Uint8Array, limit: number) => Promise<Uint8Array>;

const inflaters: ReadonlyMap<string, Decompress> = new Map(
  Object.entries({ gzip: gunzip, deflate: inflate, br: brotliDecompress }).map(([name, undo]) => [
    name,
    async (body, limit) => {
      try {
        const options = { maxOutputLength: limit };
        return await promisify<Uint8Array, object, Buffer>(undo)(body, options);
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(limit);
        throw new BadRequest("BODY_INVALID", `the request is not valid ${name} data`);
      }
    },
  ]),
);

/**
 * Decompressor for the compression of a request; undefined for none.
 *
 * @param offered names that the protocol accepts here.
 * @param accepts header that lists them for the client.
 * @throws UNIMPLEMENTED for any other (gRPC, "Compression"; Connect, "Unary-Request").
 */
export function decompressionFor(
  name: string | undefined,
  offered: readonly string[],
  accepts: string,
): Decompress | undefined {
  if (name === undefined || name === "" || name === "identity") return undefined;
  const found = offered.includes(name) ? inflaters.get(name) : undefined;
  if (found !== undefined) return found;
  const known = offered.join(",");
  throw new BadRequest(
    "HEADER_INVALID",
    `the compression ${JSON.stringify(name.slice(0, 64))} is not supported: use one of ${known}`,
    Code.Unimplemented,
    { [accepts]: known },
  );
}

/**
 * Extracts the only message of an enveloped request body.
 *
 * @param body the complete body.
 * @param limit maximum size of the message after decompression, in bytes.
 * @throws UNIMPLEMENTED for none or more than one message, INTERNAL for a compressed one without a
 * name of the compression, RESOURCE_EXHAUSTED over the limit, INVALID_ARGUMENT for broken ones.
 */
export function unwrap(
  body: Buffer,
  limit: number,
  decompress: Decompress | undefined,
): Uint8Array | Promise<Uint8Array> {
  if (body.length === 0)
    throw new BadRequest("BODY_INVALID", "the request has no message", Code.Unimplemented);
  if (body.length < PREFIX_LENGTH) throw broken();
  const flags = body[0];
  const end = PREFIX_LENGTH + body.readUInt32BE(1);
  if (body.length > end)
    throw new BadRequest(
      "BODY_INVALID",
      "the request has more than one message",
      Code.Unimplemented,
    );
  if (body.length < end) throw broken();
  const message = body.subarray(PREFIX_LENGTH);
  if (flags === 0) return message;
  if (flags !== COMPRESSED) throw broken();
  if (decompress === undefined)
    throw new BadRequest(
      "HEADER_INVALID",
      "the message is compressed, but the request names no compression",
      Code.Internal,
    );
  return decompress(message, limit);
}

/**
 * The messages of a stream of envelopes (Connect protocol, "Streaming-Request").
 *
 * @param limit maximum size of each message after decompression, in bytes.
 * @throws as unwrap does for a message that cannot be read.
 */
export async function* unwrapEach(
  pieces: BodyPieces,
  limit: number,
  decompress: Decompress | undefined,
): AsyncIterable<Uint8Array> {
  const cut = (bytes: Buffer): number | undefined =>
    bytes.length < PREFIX_LENGTH ? undefined : PREFIX_LENGTH + bytes.readUInt32BE(1);
  for await (const frame of readFrames(pieces, { cut, limit: PREFIX_LENGTH + limit }))
    yield await unwrap(frame, limit, decompress);
}

function broken(): BadRequest {
  return new BadRequest("BODY_INVALID", "the request's envelope is invalid");
}

/** Copy of bytes after their prefix. */
export function prefixed(bytes: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(PREFIX_LENGTH);
  prefix[0] = flags;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const wrapped = memoize((flags: number) => memoize((bytes: Buffer) => prefixed(bytes, flags)));

/** Bytes after their prefix (flags and length), concatenated once per buffer and flags. */
export function wrap(bytes: Buffer, flags = 0): Buffer {
  return wrapped(flags)(bytes);
}
