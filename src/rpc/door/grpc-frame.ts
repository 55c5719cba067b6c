import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

/** Bytes before a message: a flag and the length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX_LENGTH = 5;

/** Encoded replies by message: a read returns the same message while its revision stands. */
const kept = new WeakMap<Message, Buffer>();

/** A message with its prefix, encoded once for all who get it. */
export function frameOnce(desc: DescMessage, message: Message): Buffer {
  const known = kept.get(message);
  if (known !== undefined) return known;
  const bytes = toBinary(desc, message);
  const frame = Buffer.allocUnsafe(PREFIX_LENGTH + bytes.length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, PREFIX_LENGTH);
  kept.set(message, frame);
  return frame;
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
