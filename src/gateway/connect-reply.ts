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
import type { Coding, Encoded, Format } from "./encoded.ts";
import type { HttpCall, ReplyHeaders } from "./exchange.ts";
import { wellFormed } from "./failure.ts";
import { JSON_OPTIONS } from "./json-text.ts";
import { COMPRESSED, wrap } from "./length-prefix.ts";
import type { StreamReply } from "./stream.ts";

/** Form of a request of Connect or gRPC-Web, and of its reply. */
export interface Form {
  readonly call: HttpCall;
  readonly format: Format;
  /** Messages have a length prefix: streams of Connect, and all calls of gRPC-Web. */
  readonly framed: boolean;
  /** The request message is in the URL. */
  readonly inUrl: boolean;
}

/** The headers that name compressions. */
export function namesOf({ call, framed }: Form): { encoding: string; accept: string } {
  const prefix = call.transport === "grpc-web" ? "grpc-" : framed ? "connect-" : "";
  return framed
    ? {
        encoding: `${prefix}${call.transport === "grpc-web" ? "" : "content-"}encoding`,
        accept: `${prefix}accept-encoding`,
      }
    : { encoding: "content-encoding", accept: "accept-encoding" };
}

/** Framing of a reply. */
interface Framing {
  /** Compression of messages; undefined: none. */
  readonly coding: Coding | undefined;
  readonly encode: (message: Message) => Encoded;
  /** Error that a client sees at the end of the stream. */
  readonly errorOf: (thrown: unknown) => ConnectError;
}

/** Messages in envelopes, with the end of the stream in the last one. */
export function framedReply(form: Form, { coding, encode, errorOf }: Framing): StreamReply {
  const { call } = form;
  const { http } = call;
  return {
    sink: http.sink,
    isOpen: () => http.isBegun || http.isGone,
    open: () =>
      http.begin({
        ...call.replyHeaders(),
        "content-type": contentType(form),
        ...(coding === undefined ? {} : { [namesOf(form).encoding]: coding }),
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
      http.end(endFrame(form, error));
    },
  };
}

function contentType({ call, format, framed }: Form): string {
  const kind = call.transport === "grpc-web" ? "grpc-web+" : framed ? "connect+" : "";
  return `application/${kind}${format}`;
}

function endFrame({ call }: Form, error: ConnectError | undefined): Buffer {
  const trailer = new Headers(call.setTrailer);
  if (call.transport === "grpc-web") {
    const text = trailerSerialize(setTrailerStatus(trailer, error && wellFormed(error)));
    return wrap(Buffer.from(text), trailerFlag);
  }
  const json = endStreamToJson(trailer, error, JSON_OPTIONS);
  return wrap(Buffer.from(JSON.stringify(json)), endStreamFlag);
}

/** Sends a whole reply to a unary call of Connect; trailers are headers with a prefix. */
export function sendUnary(
  { call }: Form,
  status: number,
  headers: ReplyHeaders,
  body: Buffer,
): void {
  call.http.respond(
    status,
    {
      ...call.replyHeaders(),
      ...call.replyTrailers(),
      ...headers,
      "content-length": body.length,
    },
    body,
  );
}

/** Sends an error as the whole reply. */
export function sendFailure(form: Form, error: ConnectError): void {
  if (form.framed) {
    const headers = { ...form.call.replyHeaders(), "content-type": contentType(form) };
    form.call.http.respond(200, headers, endFrame(form, error));
    return;
  }
  const headers = { ...Object.fromEntries(error.metadata), "content-type": "application/json" };
  const body = Buffer.from(errorToJsonBytes(error, JSON_OPTIONS));
  sendUnary(form, codeToHttpStatus(error.code), headers, body);
}
