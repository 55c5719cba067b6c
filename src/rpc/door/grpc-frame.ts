import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

/** Bytes before a message: a flag for compression and the length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
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
