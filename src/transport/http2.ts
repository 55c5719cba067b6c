import type { RequestListener } from "node:http";
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server as GrpcServer } from "@grpc/grpc-js";
import { ServerCredentials } from "@grpc/grpc-js";
import { discardRest } from "./body.ts";
import type { ConnectionHandler } from "./front.ts";
import { agreesOnHost, refuseWith } from "./request.ts";

/** Parts of the gRPC server. */
export interface GrpcListener {
  /** Manages the connections, and serves calls that `direct` does not. */
  readonly server: GrpcServer;
  /** Direct handler of unary calls and server streams, tried first. */
  readonly direct: { handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean };
  /** Refuses a call that `direct` does not serve by its header `authorization`. */
  readonly check?: (authorization: string | undefined) => Promise<void>;
}

/** Content types of gRPC, with any codec; not gRPC-Web. */
const GRPC_TYPE = /^application\/grpc(?:$|[+; ])/i;
/** Content types of gRPC with protobuf, the codec that is served. */
const PROTO_TYPE = /^application\/grpc(?:\+proto)?$/i;

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Serves HTTP/2 connections: gRPC by grpc-js, everything else by `handler`, as over HTTP/1.1.
 *
 * grpc-js would answer all other streams with 415, so its internal HTTP/2 server gets a listener that
 * routes streams first. This uses a private field of a pinned version, which a test checks.
 *
 * @param handler of HTTP requests; undefined: gRPC only.
 * @param options.grpcHere false: gRPC has another port, and its calls go to the handler.
 * @param options.maxHeaderBytes of one request; announced to clients.
 */
export function createHttp2Handler(
  grpc: GrpcListener,
  handler: RequestListener | undefined,
  options: { readonly grpcHere?: boolean; readonly maxHeaderBytes: number },
): ConnectionHandler {
  const { grpcHere = true, maxHeaderBytes } = options;
  const injector = grpc.server.createConnectionInjector(ServerCredentials.createInsecure());
  const server = newestHttp2Server(grpc.server);
  server.updateSettings({ maxHeaderListSize: maxHeaderBytes });
  routeStreams(server, grpcHere ? grpc : undefined, handler);
  return (socket) => injector.injectConnection(socket);
}

function newestHttp2Server(grpc: GrpcServer): Http2Server {
  const { http2Servers } = grpc as unknown as { http2Servers?: Map<Http2Server, unknown> };
  const server = [...(http2Servers?.keys() ?? [])].at(-1);
  if (server === undefined)
    throw new Error("this version of @grpc/grpc-js keeps its HTTP/2 server elsewhere");
  return server;
}

function routeStreams(
  server: Http2Server,
  grpc: GrpcListener | undefined,
  handler: RequestListener | undefined,
): void {
  const grpcListeners = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");
  const toLibrary = replayMissedEnd((stream, headers, flags, rawHeaders) => {
    for (const listener of grpcListeners) listener.call(server, stream, headers, flags, rawHeaders);
  });
  const toHandler = handler === undefined ? toLibrary : replayMissedEnd(compatible(handler));
  const sort: StreamListener = (stream, headers, flags, rawHeaders) => {
    const type = headers["content-type"] ?? "";
    if (grpc === undefined || !GRPC_TYPE.test(type))
      return toHandler(stream, headers, flags, rawHeaders);
    // grpc-js would execute methods other than POST, and read every codec as protobuf.
    if (headers[":method"] !== "POST") return refuse(stream, 405);
    if (!agreesOnHost(rawHeaders, headers[":authority"])) return refuse(stream, 400);
    if (!PROTO_TYPE.test(type)) return refuse(stream, 415);
    if (grpc.direct.handle(stream, headers)) return;
    const pass = (): void => toLibrary(stream, headers, flags, rawHeaders);
    if (grpc.check === undefined) return pass();
    grpc.check(headers.authorization).then(pass, () => refuse(stream, 401));
  };
  server.on("stream", admitStreams(sort));
}

/**
 * Replays a missed `end` event for listeners: a stream without a body emits it at once, possibly
 * while the stream waits for its tick or its admission.
 */
function replayMissedEnd(listen: StreamListener): StreamListener {
  return (stream, headers, flags, rawHeaders) => {
    listen(stream, headers, flags, rawHeaders);
    if (stream.readableEnded) stream.emit("end");
  };
}

/** Streams admitted per event-loop tick; each takes about 0.2 ms. */
const STREAMS_PER_TICK = 8;

/**
 * Stream admission: one read of a connection may bring hundreds of streams; those beyond the first
 * few wait for later ticks, so that other connections are served in between. Streams that were
 * reset in the meantime are dropped.
 */
function admitStreams(listen: StreamListener): StreamListener {
  const waiting: Parameters<StreamListener>[] = [];
  let begun = 0;
  const nextTurn = (): void => {
    begun = 0;
    while (begun < STREAMS_PER_TICK && waiting.length > 0) begin(waiting.shift());
  };
  const begin = (stream: Parameters<StreamListener> | undefined): void => {
    if (stream === undefined || stream[0].destroyed) return;
    if (begun === 0) setImmediate(nextTurn);
    begun += 1;
    listen(...stream);
  };
  return (...stream) => {
    // An error before or after its listeners exist ends the stream, not the process.
    stream[0].on("error", ignore);
    if (begun < STREAMS_PER_TICK && waiting.length === 0) return begin(stream);
    waiting.push(stream);
  };
}

const ignore = (): void => undefined;

/** Answers with a status of HTTP alone (gRPC over HTTP/2, "Requests"). */
function refuse(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ":status": status }, { endStream: true });
  // Closing the stream at once would discard the reply.
  if (!stream.readableEnded) discardRest(stream, () => stream.close());
}

type Http2Listener = NonNullable<Parameters<typeof createServer>[1]>;

/** A server's "stream" listener makes the request and response objects of node:http for a handler. */
function compatible(handler: RequestListener): StreamListener {
  const server = createServer(handler as unknown as Http2Listener);
  // A client that expects 100 Continue gets it when the body is read, after the token is checked.
  server.on("checkContinue", handler as unknown as Http2Listener);
  server.on("checkExpectation", refuseWith(417) as unknown as Http2Listener);
  server.on("connect", refuseWith(405) as unknown as Http2Listener);
  return (...stream) => server.emit("stream", ...stream);
}
