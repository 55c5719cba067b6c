import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";

/** Message as the browser keeps it, in base64; null: none. */
export type KeptMessage = string | null;

export function writeMessage<D extends DescMessage>(
  schema: D,
  message: MessageShape<D> | undefined,
): KeptMessage {
  return message === undefined ? null : base64Encode(toBinary(schema, message));
}

export function readMessage<D extends DescMessage>(
  schema: D,
  kept: KeptMessage,
): MessageShape<D> | undefined {
  return kept === null ? undefined : fromBinary(schema, base64Decode(kept));
}
