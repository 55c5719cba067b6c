import type { DescMessage, Message } from "@bufbuild/protobuf";
import { memoize } from "../memoize.ts";
import type { Coding } from "./coding.ts";
import {
  createJsonText,
  type JsonForm,
  PROTO_JSON,
  type Signalled,
  serialize,
} from "./serialize.ts";

/** The bytes of a message, and their compressed variants, each created once. */
export class Encoded {
  readonly bytes: Buffer;
  readonly #variants = new Map<Coding, Promise<Buffer>>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The variant: the bytes themselves if compression fails or does not make them smaller. */
  compress(coding: Coding): Promise<Buffer> {
    const known = this.#variants.get(coding);
    if (known !== undefined) return known;
    const variant = this.#compress(coding);
    this.#variants.set(coding, variant);
    return variant;
  }

  async #compress(coding: Coding): Promise<Buffer> {
    try {
      const { buffer, byteOffset, byteLength } = await coding.compress(this.bytes);
      const made = Buffer.from(buffer, byteOffset, byteLength);
      return made.length < this.bytes.length ? made : this.bytes;
    } catch {
      return this.bytes;
    }
  }
}

/** Encoding of messages. */
export type Format = "json" | "proto";

/** The encoding of a method's replies. */
export interface ReplyForm {
  readonly json: JsonForm;
  /** Whether unknown fields of a message are written in its protobuf encoding. */
  readonly writeUnknownFields: boolean;
}

const textWriter = memoize((form: JsonForm) => createJsonText((text) => text, form));

/**
 * Encodes a message.
 *
 * @param keepsParts whether the text of its parts is cached, which are not changed afterwards.
 * @throws UnencodableReply
 */
export function encode(
  desc: DescMessage,
  message: Message,
  format: Format,
  { json, writeUnknownFields }: ReplyForm,
  keepsParts = false,
): Encoded {
  if (format === "proto") return new Encoded(serialize(desc, message, { writeUnknownFields }));
  return new Encoded(Buffer.from(textWriter(json)(desc, message, { keepsParts })));
}

const PROTO_REPLY: ReplyForm = { json: PROTO_JSON, writeUnknownFields: true };

const encodedReply = memoize((form: ReplyForm) =>
  memoize((format: Format) =>
    memoize((desc: DescMessage) =>
      memoize((message: Message) => encode(desc, message, format, form, true)),
    ),
  ),
);

/**
 * Encodes the elements of long lists of a message over several ticks of the event loop, for `encodeOnce`.
 *
 * @param request its signal ends it. @returns undefined: there is nothing to do.
 */
export function prepareOnce(
  desc: DescMessage,
  message: Message,
  format: Format,
  { json }: ReplyForm,
  request: Signalled,
): Promise<void> | undefined {
  return format === "json" ? textWriter(json).prepare(desc, message, request) : undefined;
}

/**
 * Encodes a message once for all its receivers. Only for messages that are not changed after they
 * were returned (`immutableReplies`): a new state is a new message.
 *
 * @param form default: proto names.
 * @throws UnencodableReply
 */
export function encodeOnce(
  desc: DescMessage,
  message: Message,
  format: Format,
  form: ReplyForm = PROTO_REPLY,
): Encoded {
  return encodedReply(form)(format)(desc)(message);
}
