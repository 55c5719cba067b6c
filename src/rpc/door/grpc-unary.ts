import { type IncomingHttpHeaders, type ServerHttp2Stream, sensitiveHeaders } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import { toConnectError } from "../error.ts";
import { isRead, type UnaryMethod } from "../method.ts";
import { type GrpcDoorDeps, MAX_REQUEST_BYTES } from "./grpc.ts";
import { frame, frameOnce, PREFIX_LENGTH, readFrame } from "./grpc-frame.ts";
import { toGrpcStatus } from "./grpc-status.ts";
import { readTimeout, withTimeout } from "./grpc-timeout.ts";
import { GrpcUnaryCall } from "./grpc-unary-call.ts";
import { readBody, tooLarge } from "./request-body.ts";
import { unaryMethods } from "./unary-path.ts";

/** Serves plain unary calls of gRPC. */
export interface GrpcUnary {
  /**
   * Takes a stream whose call is plain: a unary method of the contract, not compressed.
   *
   * @returns false for anything else: nothing was done, grpc-js serves it.
   */
  handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Makes the short way of unary calls. grpc-js makes a dozen objects for each call, which live on
 * until the next large garbage collection; a reply that is encoded already needs none of them.
 */
export function createGrpcUnary({ methods, requestId }: GrpcDoorDeps): GrpcUnary {
  const methodAt = unaryMethods(methods);
  return {
    handle: (stream, headers) => {
      const method = methodAt.get(headers[":path"] ?? "");
      if (method === undefined || !isPlain(headers)) return false;
      const timeout = headers["grpc-timeout"];
      const time = timeout === undefined ? NO_LIMIT : readTimeout(String(timeout));
      if (time === undefined) return false;
      serve(method, stream, new GrpcUnaryCall(stream, headers, requestId), time);
      return true;
    },
  };
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

function isPlain(headers: IncomingHttpHeaders): boolean {
  if (headers[":method"] !== "POST") return false;
  const type = headers["content-type"];
  if (type !== "application/grpc" && type !== "application/grpc+proto") return false;
  const encoding = headers["grpc-encoding"];
  return encoding === undefined || encoding === "identity";
}

/** @param time how long the call may take, in milliseconds. */
function serve(
  { desc, invoke }: UnaryMethod,
  stream: ServerHttp2Stream,
  call: GrpcUnaryCall,
  time: number,
): void {
  const began = time === NO_LIMIT ? 0 : performance.now();
  const fail = (error: unknown): void => sendFailure(stream, error, call);
  const encode = isRead(desc) ? frameOnce : frame;
  const succeed = (reply: Message): void => {
    const made = encode(desc.output, reply);
    if (made instanceof Promise) made.then((bytes) => sendReply(stream, bytes, call), fail);
    else sendReply(stream, made, call);
  };
  readBody(stream, MAX_REQUEST_BYTES + PREFIX_LENGTH, {
    refuse: () => fail(tooLarge(MAX_REQUEST_BYTES)),
    take: (body) => {
      try {
        const reply = invoke(readFrame(desc.input, body), call);
        if (!(reply instanceof Promise)) succeed(reply);
        else if (time === NO_LIMIT) reply.then(succeed, fail);
        else withTimeout(reply, began + time - performance.now(), call).then(succeed, fail);
      } catch (error) {
        fail(error);
      }
    },
  });
}

/** Answered already, or nobody waits for an answer any more. */
function isOver(stream: ServerHttp2Stream): boolean {
  return stream.headersSent || stream.closed || stream.destroyed;
}

/** Names and values by turns: no object is made and taken apart again for each call. */
const HEAD = [
  ":status",
  "200",
  "content-type",
  "application/grpc+proto",
  "grpc-accept-encoding",
  "identity,deflate,gzip",
  "grpc-encoding",
  "identity",
];
const WITH_TRAILERS = { waitForTrailers: true };
/** Kept out of the compression tables of both ends, which it would fill with what is never sent again. */
const NEVER_AGAIN = ["x-request-id"];

function sendReply(stream: ServerHttp2Stream, bytes: Buffer, { requestId }: GrpcUnaryCall): void {
  if (isOver(stream)) return;
  // A copy, to which Node adds the date.
  stream.respond([...HEAD], WITH_TRAILERS);
  stream.once("wantTrailers", () =>
    stream.sendTrailers({
      "grpc-status": "0",
      "x-request-id": requestId,
      [sensitiveHeaders]: NEVER_AGAIN,
    }),
  );
  stream.end(bytes);
}

/** A reply of trailers only (gRPC over HTTP/2, "Responses"). */
function sendFailure(stream: ServerHttp2Stream, error: unknown, call: GrpcUnaryCall): void {
  if (isOver(stream)) return;
  const { code, details, metadata } = toGrpcStatus(toConnectError(error), call);
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc+proto",
      "grpc-status": String(code),
      "grpc-message": encodeURI(details.toWellFormed()),
      ...metadata.toHttp2Headers(),
    },
    { endStream: true },
  );
}
