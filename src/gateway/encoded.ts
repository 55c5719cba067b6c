import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { memoize } from "../memoize.ts";
import { createJsonText, type MemberNames, serialize } from "./serialize.ts";

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

/** Finds the codings that an Accept-Encoding header accepts, the preferred one first. */
export type Negotiator = (header: string | undefined) => readonly Coding[];

/** Maximum number of cached headers: browsers and proxies send few different ones. */
const REMEMBERED = 64;

/**
 * Creates a negotiator (RFC 9110, section 12.5.3) that caches its results. With equal weights, br
 * is preferred to gzip.
 */
export function createNegotiator(): Negotiator {
  const remembered = new Map<string, readonly Coding[]>();
  return (header) => {
    if (header === undefined) return NONE;
    const known = remembered.get(header);
    if (known) return known;
    const codings = acceptedCodings(header);
    if (remembered.size < REMEMBERED && header.length < 256) remembered.set(header, codings);
    return codings;
  };
}

const NONE: readonly Coding[] = [];

const PREFERENCE: readonly Coding[] = ["br", "gzip"];

/** The codings of a header with a weight above 0, by weight. */
export function acceptedCodings(header: string): readonly Coding[] {
  const weights = new Map(header.split(",").map(readMember));
  const weight = (coding: Coding): number => weights.get(coding) ?? weights.get("*") ?? 0;
  return PREFERENCE.filter((coding) => weight(coding) > 0).sort((a, b) => weight(b) - weight(a));
}

function readMember(member: string): [coding: string, weight: number] {
  const [name = "", ...parameters] = member.split(";");
  const q = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
  const weight = q === undefined ? 1 : Number(q.slice(q.indexOf("=") + 1));
  return [name.trim().toLowerCase(), Number.isNaN(weight) ? 0 : weight];
}
