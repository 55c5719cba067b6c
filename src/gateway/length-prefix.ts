import { Code } from "@connectrpc/connect";
import { memoize } from "../memoize.ts";
import { BadRequest } from "../transport/body.ts";
import { type BodyPieces, readFrames } from "../transport/body-pieces.ts";
import type { Coding, Decompress } from "./coding.ts";
import type { Encoded } from "./encoded.ts";

/** Bytes before a message: flags and the length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX_LENGTH = 5;

/** The message is compressed (gRPC, gRPC-Web and Connect alike). */
const COMPRESSED = 1;

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

/**
 * Bytes after their prefix (flags and length), concatenated once per buffer and flags: for bytes that
 * are sent to several receivers.
 */
export function wrap(bytes: Buffer, flags = 0): Buffer {
  return wrapped(flags)(bytes);
}

/** How a message of a reply is framed. */
interface Framing {
  /** Compression; undefined: none. */
  readonly coding: Coding | undefined;
  /** Shortest message that is compressed, in bytes. */
  readonly minBytes: number;
  /** The message is sent to several receivers: its frame is kept. */
  readonly isKept: boolean;
}

/** An encoded message with its prefix, compressed if that makes it smaller. */
export function frame(
  encoded: Encoded,
  { coding, minBytes, isKept }: Framing,
): Buffer | Promise<Buffer> {
  const framed = isKept ? wrap : prefixed;
  const { bytes } = encoded;
  if (coding === undefined || bytes.length < minBytes) return framed(bytes);
  return encoded.compress(coding).then((made) => framed(made, made === bytes ? 0 : COMPRESSED));
}
