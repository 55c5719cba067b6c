import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createKeep } from "../kept.ts";
import { binaryInTurns, longFieldOf } from "./long-reply.ts";

/** Bytes before a message: a flag and the length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX_LENGTH = 5;

/** Replies with their prefix: a read returns the same message while its revision stands. */
const keep = createKeep<Message, Buffer>();

/**
 * A message with its prefix. A promise where a list in it is long: that takes several turns of the
 * event loop.
 */
export function frame(desc: DescMessage, message: Message): Buffer | Promise<Buffer> {
  const long = longFieldOf(desc, message);
  if (long === undefined) return frameOf([toBinary(desc, message)]);
  return binaryInTurns(desc, long, message).then(frameOf);
}

/** The same, encoded once for all who get this message. */
export function frameOnce(desc: DescMessage, message: Message): Buffer | Promise<Buffer> {
  return keep(message, () => frame(desc, message));
}

/** The same at once, however long it takes, without the prefix. */
export function bytesNow(desc: DescMessage, message: Message): Buffer {
  const kept = keep(message, () => frameOf([toBinary(desc, message)]));
  return kept instanceof Promise
    ? Buffer.from(toBinary(desc, message))
    : kept.subarray(PREFIX_LENGTH);
}

function frameOf(parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const prefix = Buffer.alloc(PREFIX_LENGTH);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, ...parts], PREFIX_LENGTH + length);
}

/**
 * The message of a unary request that is not compressed.
 *
 * @param body all that the client has sent.
 * @throws ConnectError UNIMPLEMENTED for none or more than one message, INTERNAL for bytes that are
 * none (gRPC, "Status codes and their use").
 */
export function readFrame(desc: DescMessage, body: Buffer): Message {
  if (body.length === 0) throw new ConnectError("the request has no message", Code.Unimplemented);
  if (body.length < PREFIX_LENGTH || body.readUInt8(0) !== 0) throw noMessage();
  const end = PREFIX_LENGTH + body.readUInt32BE(1);
  if (body.length > end)
    throw new ConnectError("the request has more than one message", Code.Unimplemented);
  if (body.length < end) throw noMessage();
  try {
    return fromBinary(desc, body.subarray(PREFIX_LENGTH));
  } catch {
    throw noMessage();
  }
}

function noMessage(): ConnectError {
  return new ConnectError("the request is no message of this method", Code.Internal);
}
