import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { memoize } from "../memoize.ts";
import { createJsonText, type MemberNames } from "./json-text.ts";
import { serialize } from "./serialize.ts";

/** A content coding that a reply can have. */
export type Coding = "gzip" | "br";

/** Shortest body that is compressed, in bytes: below it the headers outweigh the gain. */
const COMPRESSIBLE_SIZE = 1_024;

/** Bytes that many clients receive, and their compressed variants, each created once. */
export class Encoded {
  readonly bytes: Buffer;
  readonly #variants = new Map<Coding, Buffer | Promise<Buffer>>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Whether compression can be worthwhile. */
  get compressible(): boolean {
    return this.bytes.length >= COMPRESSIBLE_SIZE;
  }

  /** The variant if it is ready; otherwise its creation is started. */
  offer(coding: Coding): Buffer | undefined {
    const variant = this.#variants.get(coding);
    if (variant === undefined) this.compress(coding);
    return Buffer.isBuffer(variant) ? variant : undefined;
  }

  /** The variant: the bytes themselves if compression fails or does not make them smaller. */
  compress(coding: Coding): Buffer | Promise<Buffer> {
    const known = this.#variants.get(coding);
    if (known !== undefined) return known;
    const variant = compressed(coding, this.bytes)
      .catch(() => this.bytes)
      .then((made) => {
        const best = made.length < this.bytes.length ? made : this.bytes;
        this.#variants.set(coding, best);
        return best;
      });
    this.#variants.set(coding, variant);
    return variant;
  }
}

/** Encoding of messages. */
export type Format = "json" | "proto";

const jsonText = memoize((names: MemberNames) => createJsonText(JSON.stringify, names));

const inProto = memoize((desc: DescMessage) =>
  memoize((message: Message) => new Encoded(serialize(desc, message))),
);
const inJson = memoize((names: MemberNames) =>
  memoize((isOnce: boolean) =>
    memoize((registry: Registry | undefined) =>
      memoize((desc: DescMessage) =>
        memoize(
          (message: Message) =>
            new Encoded(Buffer.from(jsonText(names)(desc, message, { registry, isOnce }))),
        ),
      ),
    ),
  ),
);

/**
 * Encodes a message once for all its receivers: services return the same message while their state
 * is unchanged, and a new state is a new message.
 *
 * @param registry for google.protobuf.Any in JSON.
 * @param names of JSON members. Default: proto names.
 * @param isOnce whether no other reply contains parts of the message. Default: false.
 * @throws UnencodableReply
 */
export function encodeOnce(
  desc: DescMessage,
  message: Message,
  format: Format,
  registry?: Registry,
  names: MemberNames = "proto",
  isOnce = false,
): Encoded {
  if (format === "proto") return inProto(desc)(message);
  return inJson(names)(isOnce)(registry)(desc)(message);
}

/** Brotli level with nearly the size of the highest one for a tenth of its time. */
const BROTLI_QUALITY = 6;

const [toGzip, toBrotli] = [promisify(gzip), promisify(brotliCompress)];

/** Off the event loop. */
function compressed(coding: Coding, body: Buffer): Promise<Buffer> {
  if (coding === "gzip") return toGzip(body);
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
    [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  return toBrotli(body, { params });
}
