import type {
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type Transport } from "@connectrpc/connect";
import type { Routes } from "./method.ts";

/**
 * Implementations that forward calls to another server, with their metadata, deadline and
 * cancellation.
 */
export function forwardTo(target: Transport, services: readonly DescService[]): Routes {
  return (router) => {
    for (const method of services.flatMap(({ methods }) => methods)) {
      if (method.methodKind === "unary") {
        const desc = method as DescMethodUnary;
        router.rpc(desc, (request, context) => unary(target, desc, request, context));
      } else if (method.methodKind === "server_streaming") {
        const desc = method as DescMethodServerStreaming;
        router.rpc(desc, (request, context) => stream(target, desc, only(request), context));
      } else if (method.methodKind === "client_streaming") {
        const desc = method as DescMethodClientStreaming;
        router.rpc(desc, (requests, context) => clientStream(target, desc, requests, context));
      } else {
        const desc = method as DescMethodBiDiStreaming;
        router.rpc(desc, (requests, context) => stream(target, desc, requests, context));
      }
    }
  };
}

async function unary(
  target: Transport,
  method: DescMethodUnary,
  request: Message,
  context: HandlerContext,
): Promise<Message> {
  try {
    const header = forwardedHeaders(context.requestHeader);
    const { signal } = context;
    const reply = await target.unary(method, signal, timeLeft(context), header, request);
    append(context.responseHeader, forwardedHeaders(reply.header));
    append(context.responseTrailer, forwardedHeaders(reply.trailer));
    return reply.message;
  } catch (error) {
    throw forwardedError(error, context);
  }
}

async function* stream(
  target: Transport,
  method: DescMethodServerStreaming | DescMethodBiDiStreaming,
  requests: AsyncIterable<Message>,
  context: HandlerContext,
): AsyncIterable<Message> {
  try {
    const header = forwardedHeaders(context.requestHeader);
    const { signal } = context;
    const reply = await target.stream(method, signal, timeLeft(context), header, requests);
    append(context.responseHeader, forwardedHeaders(reply.header));
    yield* reply.message;
    append(context.responseTrailer, forwardedHeaders(reply.trailer));
  } catch (error) {
    throw forwardedError(error, context);
  }
}

async function clientStream(
  target: Transport,
  method: DescMethodClientStreaming,
  requests: AsyncIterable<Message>,
  context: HandlerContext,
): Promise<Message> {
  try {
    const header = forwardedHeaders(context.requestHeader);
    const { signal } = context;
    const reply = await target.stream(method, signal, timeLeft(context), header, requests);
    append(context.responseHeader, forwardedHeaders(reply.header));
    let message: Message | undefined;
    for await (const one of reply.message) message = one;
    append(context.responseTrailer, forwardedHeaders(reply.trailer));
    if (message !== undefined) return message;
  } catch (error) {
    throw forwardedError(error, context);
  }
  throw new ConnectError("the server sent no reply", Code.Unimplemented);
}

/** Whole milliseconds: the protocols have no fractions. */
function timeLeft(context: HandlerContext): number | undefined {
  const left = context.timeoutMs();
  return left === undefined ? undefined : Math.ceil(left);
}

async function* only(message: Message): AsyncIterable<Message> {
  yield message;
}

/**
 * Headers of one connection or one protocol (RFC 9110, section 7.6.1; gRPC over HTTP/2,
 * "Requests"), of the form of a body, and those that the gateway handles itself.
 */
const OF_A_HOP =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|date|user-agent|content-.*|accept|accept-encoding|if-.*|range|grpc-.*|connect-.*|x-server-timeout)$/;

function forwardedHeaders(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => !OF_A_HOP.test(name)));
}

function append(to: Headers, from: Headers): void {
  for (const [name, value] of from) to.append(name, value);
}

/**
 * The error with its code, message, details and forwarded metadata. A server whose deadline has
 * passed may reset the stream before the timer here runs; the reset alone would be CANCELED.
 */
function forwardedError(thrown: unknown, context: HandlerContext): ConnectError {
  const error = ConnectError.from(thrown);
  if (error.code === Code.Canceled && (context.timeoutMs() ?? 1) <= 0)
    return new ConnectError("the call's time limit has expired", Code.DeadlineExceeded);
  // An error of its own: metadata of an error from another server is not sent otherwise.
  const { rawMessage, code, metadata, details, cause } = error;
  const forwarded = new ConnectError(
    rawMessage,
    code,
    forwardedHeaders(metadata),
    undefined,
    cause,
  );
  forwarded.details = details;
  return forwarded;
}
