import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  compressionNegotiate,
  createMethodSerializationLookup,
} from "@connectrpc/connect/protocol";
import { contentTypeUnaryProto } from "@connectrpc/connect/protocol-connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { createKeep, type Keep } from "../kept.ts";
import { isRead } from "../method.ts";
import { connectLimits, jsonOptions } from "./connect-limit.ts";
import { binaryInTurns, jsonInTurns, longFieldOf } from "./long-reply.ts";

/** A reply in one coding, ready to be sent. */
export interface ConnectVariant {
  /** Names and values by turns. */
  readonly headers: readonly string[];
  /** Bytes, or for a short body the same bytes as latin1 text. */
  readonly body: Uint8Array | string;
}

/** A method's messages in JSON or in bytes. */
export interface ConnectFormat {
  /** @throws ConnectError for bytes that are no such message. */
  parse(body: Uint8Array): Message;
  /**
   * A reply, encoded and compressed once for all who get the same message.
   *
   * @param accepted the header Accept-Encoding. A promise where compression takes its time.
   * @throws ConnectError for a reply over the limit.
   */
  encode(message: Message, accepted: string | undefined): ConnectVariant | Promise<ConnectVariant>;
}

/** Codings of replies, as the library offers them. */
const codings = [compressionGzip, compressionBrotli];
/** Shortest body that is compressed, in bytes: the library's default. */
const COMPRESSIBLE_SIZE = 1_024;
/**
 * Longest body that goes out as text, in bytes: node:http writes a text and the headers at once, and
 * latin1 keeps every byte as it is. Above some 10 kB a buffer is faster.
 */
const SHORT_BODY = 4_096;

interface Encoded {
  readonly bytes: Uint8Array;
  readonly identity: ConnectVariant;
  readonly coded: Map<string, ConnectVariant | Promise<ConnectVariant>>;
}

/** @param type of the bodies, `application/json` or `application/proto`. */
export function createConnectFormat(desc: DescMethodUnary, type: string): ConnectFormat {
  const isBinary = type === contentTypeUnaryProto;
  const lookup = createMethodSerializationLookup(desc, undefined, jsonOptions, connectLimits);
  const input = lookup.getI(isBinary);
  const output = lookup.getO(isBinary);
  const keep: Keep<Message, Encoded> = isRead(desc) ? createKeep() : (_message, make) => make();
  const encoded = (bytes: Uint8Array): Encoded => ({
    bytes,
    identity: createVariant(type, bytes),
    coded: new Map(),
  });
  const encodeOnce = (message: Message): Encoded | Promise<Encoded> =>
    keep(message, () => {
      const long = longFieldOf(desc.output, message);
      if (long === undefined) return encoded(output.serialize(message));
      const inTurns = isBinary ? binaryInTurns : jsonInTurns;
      return inTurns(desc.output, long, message).then((parts) => encoded(joined(parts)));
    });
  return {
    parse: (body) => input.parse(body),
    encode: (message, accepted) => {
      const made = encodeOnce(message);
      return made instanceof Promise
        ? made.then((settled) => variantOf(type, settled, accepted))
        : variantOf(type, made, accepted);
    },
  };
}

/** @throws RESOURCE_EXHAUSTED over the limit, as the library does. */
function joined(parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  if (bytes.length <= connectLimits.writeMaxBytes) return bytes;
  throw new ConnectError(
    `the reply is larger than ${connectLimits.writeMaxBytes} bytes`,
    Code.ResourceExhausted,
  );
}

function variantOf(
  type: string,
  { bytes, identity, coded }: Encoded,
  accepted: string | undefined,
): ConnectVariant | Promise<ConnectVariant> {
  if (accepted === undefined || bytes.length < COMPRESSIBLE_SIZE) return identity;
  const { response } = compressionNegotiate(codings, null, accepted, "Accept-Encoding");
  if (response === null) return identity;
  const { name } = response;
  const known = coded.get(name);
  if (known !== undefined) return known;
  const variant = response
    .compress(bytes)
    .then((compressed) => createVariant(type, compressed, name));
  coded.set(name, variant);
  variant.then(
    (made) => coded.set(name, made),
    () => coded.delete(name),
  );
  return variant;
}

function createVariant(type: string, bytes: Uint8Array, coding?: string): ConnectVariant {
  return {
    headers: [
      ...["Content-Type", type, "Content-Length", String(bytes.length)],
      ...(coding === undefined ? [] : ["Content-Encoding", coding]),
    ],
    body: bytes.length <= SHORT_BODY ? Buffer.from(bytes).toString("latin1") : bytes,
  };
}
