import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Method, UnaryMethod } from "../method.ts";
import { type GrpcDoorDeps, MAX_REQUEST_BYTES } from "./grpc.ts";
import { frameOnce, PREFIX_LENGTH } from "./grpc-frame.ts";
import { toGrpcStatus } from "./grpc-status.ts";
import { GrpcUnaryCall } from "./grpc-unary-call.ts";

/** Serves plain unary calls on HTTP/2 streams. */
export interface GrpcUnary {
  /**
   * Takes a stream whose call is plain: a unary method of the contract, not compressed.
   *
   * @returns false for anything else: nothing was done, grpc-js serves it.
   */
  handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Makes the short way of unary calls. grpc-js makes about a dozen objects for a call, interceptors,
 * stream and metadata among them, most of which no reply needs and which outlive it until the next
 * large garbage collection. A request that can be read at once and a reply that is encoded already
 * take half of that. Replies are those of grpc-js to the byte.
 */
export function createGrpcUnary({ methods, requestId }: GrpcDoorDeps): GrpcUnary {
  const methodAt = new Map(methods.filter(isUnary).map((method) => [pathOf(method), method]));
  return {
    handle: (stream, headers) => {
      const method = methodAt.get(headers[":path"] ?? "");
      if (method === undefined || !isPlain(headers)) return false;
      serve(method, stream, new GrpcUnaryCall(stream, headers, requestId), timeOf(headers));
      return true;
    },
  };
}

function isUnary(method: Method): method is UnaryMethod {
  return method.kind === "unary";
}

function pathOf({ desc }: UnaryMethod): string {
  return `/${desc.parent.typeName}/${desc.name}`;
}

function isPlain(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"];
  if (type !== "application/grpc" && type !== "application/grpc+proto") return false;
  if (headers[":method"] !== "POST") return false;
  const encoding = headers["grpc-encoding"];
  if (encoding !== undefined && encoding !== "identity") return false;
  const timeout = headers["grpc-timeout"];
  return timeout === undefined || (typeof timeout === "string" && TIMEOUT.test(timeout));
}

/** Time limit of a call (gRPC over HTTP/2, "Timeout"): at most eight digits and a unit. */
const TIMEOUT = /^\d{1,8}[HMSmun]$/;
const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};
/** Longest time that a timer of Node can wait, in milliseconds. */
const MAX_TIME = 2 ** 31 - 1;

/** How long a call may take, in milliseconds; undefined: as long as it needs. */
function timeOf(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers["grpc-timeout"];
  if (typeof timeout !== "string") return undefined;
  return Math.min(Number.parseInt(timeout, 10) * (UNITS[timeout.at(-1) ?? ""] ?? 1), MAX_TIME);
}

/** How many times the limit a client may go on sending after it was refused, before it is cut off. */
const PATIENCE = 8;

function serve(
  { desc, invoke }: UnaryMethod,
  stream: ServerHttp2Stream,
  call: GrpcUnaryCall,
  time: number | undefined,
): void {
  const began = time === undefined ? 0 : performance.now();
  const chunks: Buffer[] = [];
  let size = 0;
  const succeed = (reply: Message): void => sendReply(stream, frameOnce(desc.output, reply), call);
  const fail = (error: unknown): void => sendFailure(stream, error, call);
  stream.on("error", ignore);
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_REQUEST_BYTES + PREFIX_LENGTH) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    fail(tooLarge());
    if (size > MAX_REQUEST_BYTES * PATIENCE) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  stream.on("end", () => {
    // Refused already, or gone.
    if (stream.headersSent || stream.closed) return;
    try {
      const bytes = readMessage(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      const reply = invoke(decode(desc.input, bytes), call);
      if (!(reply instanceof Promise)) return succeed(reply);
      const limited = time === undefined ? reply : withLimit(reply, began + time, call);
      limited.then(succeed, fail);
    } catch (error) {
      fail(error);
    }
  });
}
