import type { RequestListener } from "node:http";
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { discardRest } from "./body.ts";
import type { ConnectionHandler } from "./front.ts";
import type { GrpcJs } from "./grpc-js.ts";
import { keepAlive } from "./keep-alive.ts";
import { agreesOnHost, refuseWith } from "./request.ts";

/** Parts of the gRPC server. */
export interface GrpcListener {
  /** Serves the calls that `direct` does not. It is loaded by the first of them. */
  readonly grpcJs: GrpcJs;
  /** Direct handler of unary calls and server streams, tried first. */
  readonly direct: { handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean };
  /** Refuses a call that `direct` does not serve by its header `authorization`. */
  readonly check?: (authorization: string | undefined) => Promise<void>;
  /** Called for each HTTP/2 connection. */
  readonly watch?: (session: ServerHttp2Session) => void;
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

/** HTTP/2 connections of a port. */
export interface Http2Connections {
  readonly accept: ConnectionHandler;
  /** Announces the end of the connections (GOAWAY). Resolves when all of them are closed. */
  close(): Promise<void>;
  /** Closes the connections with their open streams. */
  destroy(): void;
}

export interface Http2Options {
  /** Of HTTP requests; undefined: gRPC only. */
  readonly handler: RequestListener | undefined;
  /** False: gRPC has another port, and its calls go to the handler. Default: true. */
  readonly grpcHere?: boolean;
  /** Maximum size of a request's headers, in bytes; announced to clients. */
  readonly maxHeaderBytes: number;
  /** Maximum number of concurrent streams of a connection; announced to clients. */
  readonly maxStreams: number;
}

/** Serves HTTP/2 connections: gRPC calls, and everything else by the handler, as over HTTP/1.1. */
export function createHttp2Connections(
  grpc: GrpcListener,
  { handler, grpcHere = true, maxHeaderBytes, maxStreams }: Http2Options,
): Http2Connections {
  const server = createServer({
    settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: maxHeaderBytes },
    // Node resets streams at its own limit of memory. Bodies and slow readers have limits of their own.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    maxSendHeaderBlockLength: Number.MAX_SAFE_INTEGER,
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    keepAlive(session);
    grpc.watch?.(session);
  });
  server.on("stream", admitStreams(sortStreams(grpcHere ? grpc : undefined, handler)));
  return {
    accept: (socket) => void server.emit("connection", socket),
    close: async () => {
      await Promise.all([...sessions].map((session) => closeSession(session)));
    },
    destroy: () => {
      for (const session of sessions) session.destroy(undefined, constants.NGHTTP2_CANCEL);
    },
  };
}

function closeSession(session: ServerHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) return resolve();
    session.once("close", resolve);
    session.close();
  });
}

/** Serves each stream by its protocol. */
function sortStreams(
  grpc: GrpcListener | undefined,
  handler: RequestListener | undefined,
): StreamListener {
  const toHandler = handler && replayMissedEnd(compatible(handler));
  return (stream, headers, flags, rawHeaders) => {
    const type = headers["content-type"] ?? "";
    if (grpc === undefined || !GRPC_TYPE.test(type))
      return toHandler ? toHandler(stream, headers, flags, rawHeaders) : refuse(stream, 415);
    // grpc-js would execute methods other than POST, and read every codec as protobuf.
    if (headers[":method"] !== "POST") return refuse(stream, 405);
    if (!agreesOnHost(rawHeaders, headers[":authority"])) return refuse(stream, 400);
    if (!PROTO_TYPE.test(type)) return refuse(stream, 415);
    if (grpc.direct.handle(stream, headers)) return;
    if (grpc.check === undefined) return grpc.grpcJs.pass(stream, headers);
    grpc.check(headers.authorization).then(
      () => grpc.grpcJs.pass(stream, headers),
      () => refuse(stream, 401),
    );
  };
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
  // The client has reset it while its token was checked.
  if (stream.destroyed || stream.closed) return;
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
