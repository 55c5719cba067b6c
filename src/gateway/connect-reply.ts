import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import {
  setTrailerStatus,
  trailerFlag,
  trailerSerialize,
} from "@connectrpc/connect/protocol-grpc-web";
import type { FastifyReply } from "fastify";
import type { Coding, Encoded, Format } from "./encoded.ts";
import { type HttpCall, isGone, openStream, sinkOf } from "./http-call.ts";
import { JSON_OPTIONS } from "./json-text.ts";
import { COMPRESSED, wrap } from "./length-prefix.ts";
import type { StreamReply } from "./stream.ts";

/** A request of Connect or gRPC-Web on its way. */
export interface Exchange {
  readonly call: HttpCall;
  readonly format: Format;
  /** Messages come in envelopes: streams of Connect, and everything of gRPC-Web. */
  readonly framed: boolean;
  /** The request's message stands in the URL. */
  readonly inUrl: boolean;
}

/** The headers that name compressions. */
export function namesOf({ call, framed }: Exchange): { encoding: string; accept: string } {
  const prefix = call.door === "grpc-web" ? "grpc-" : framed ? "connect-" : "";
  return framed
    ? {
        encoding: `${prefix}${call.door === "grpc-web" ? "" : "content-"}encoding`,
        accept: `${prefix}accept-encoding`,
      }
    : { encoding: "content-encoding", accept: "accept-encoding" };
}

/** How a framed reply is written. */
interface Framing {
  /** Compression of messages; undefined: none. */
  readonly coding: Coding | undefined;
  readonly encode: (message: Message) => Encoded;
  /** What a client sees of an error that ends the stream. */
  readonly errorOf: (thrown: unknown) => ConnectError;
}

/** Messages in envelopes; how the stream has ended stands in the last one. */
export function framedReply(
  exchange: Exchange,
  reply: FastifyReply,
  { coding, encode, errorOf }: Framing,
): StreamReply {
  const { call } = exchange;
  const { response } = call;
  return {
    sink: sinkOf(response),
    isOpen: () => response.headersSent || isGone(response),
    open: () =>
      openStream(reply, {
        ...Object.fromEntries(call.setHeader ?? []),
        "content-type": contentType(exchange),
        ...(coding === undefined ? {} : { [namesOf(exchange).encoding]: coding }),
      }),
    encode: (message) => {
      const encoded = encode(message);
      if (coding === undefined || !encoded.compressible) return wrap(encoded.bytes);
      const body = encoded.compress(coding);
      const framed = (bytes: Buffer): Buffer =>
        wrap(bytes, bytes === encoded.bytes ? 0 : COMPRESSED);
      return Buffer.isBuffer(body) ? framed(body) : body.then(framed);
    },
    end: (thrown) => {
      const error = thrown === undefined ? undefined : errorOf(thrown);
      response.end(endFrame(exchange, error));
    },
  };
}

function contentType({ call, format, framed }: Exchange): string {
  const kind = call.door === "grpc-web" ? "grpc-web+" : framed ? "connect+" : "";
  return `application/${kind}${format}`;
}

function endFrame({ call }: Exchange, error: ConnectError | undefined): Buffer {
  const trailer = new Headers(call.setTrailer);
  if (call.door === "grpc-web") {
    const text = trailerSerialize(setTrailerStatus(trailer, error));
    return wrap(Buffer.from(text), trailerFlag);
  }
  const json = endStreamToJson(trailer, error, JSON_OPTIONS);
  return wrap(Buffer.from(JSON.stringify(json)), endStreamFlag);
}

/** An error before anything was sent. */
export function sendFailure(exchange: Exchange, reply: FastifyReply, error: ConnectError): void {
  const { call, framed } = exchange;
  for (const [name, value] of call.setHeader ?? []) reply.header(name, value);
  if (framed) {
    const body = endFrame(exchange, error);
    return void reply.code(200).header("content-type", contentType(exchange)).send(body);
  }
  for (const [name, value] of call.setTrailer ?? []) reply.header(`trailer-${name}`, value);
  for (const [name, value] of error.metadata) reply.header(name, value);
  const body = Buffer.from(errorToJsonBytes(error, JSON_OPTIONS));
  reply
    .code(codeToHttpStatus(error.code))
    .headers({ "content-type": "application/json", "content-length": body.length })
    .send(body);
}
