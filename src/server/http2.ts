import type { RequestListener } from "node:http";
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server as GrpcServer } from "@grpc/grpc-js";
import { ServerCredentials } from "@grpc/grpc-js";
import type { GrpcUnary } from "../rpc/door/grpc-unary.ts";
import type { TakeConnection } from "./front.ts";

/** What serves gRPC. */
export interface GrpcDoor {
  /** Everything, on connections that it is handed. */
  readonly server: GrpcServer;
  /** Asked first, for calls that have a shorter way. */
  readonly unary: GrpcUnary;
}

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/** gRPC proper, but not gRPC-Web (gRPC over HTTP/2, "Requests"). */
const GRPC_CONTENT_TYPE = /^application\/grpc(?:$|[+;])/;

/**
 * Takes HTTP/2 connections, without TLS. gRPC calls go to grpc-js; on the same connections Connect,
 * gRPC-Web and REST are served too, because clients such as `buf curl` use HTTP/2 for every protocol.
 *
 * grpc-js hands out no streams that are not gRPC's: it would answer them with 415. So its internal
 * HTTP/2 server gets a listener that sorts streams before its own. That reaches into a private
 * field of a pinned version; a test over every protocol holds it.
 *
 * @param handler of HTTP requests; undefined: gRPC alone.
 * @param options.grpcHere false: gRPC is served elsewhere, and its calls are the handler's too.
 */
export function createHttp2Door(
  { server, unary }: GrpcDoor,
  handler: RequestListener | undefined,
  { grpcHere = true }: { readonly grpcHere?: boolean } = {},
): TakeConnection {
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  sortStreams(newestHttp2Server(server), {
    ...(grpcHere ? { unary } : {}),
    ...(handler === undefined ? {} : { handler }),
  });
  return (socket) => injector.injectConnection(socket);
}

function newestHttp2Server(grpc: GrpcServer): Http2Server {
  const { http2Servers } = grpc as unknown as { http2Servers?: Map<Http2Server, unknown> };
  const server = [...(http2Servers?.keys() ?? [])].at(-1);
  if (server === undefined)
    throw new Error("this version of @grpc/grpc-js keeps its HTTP/2 server elsewhere");
  return server;
}

interface Sorted {
  /** Undefined: gRPC is not served here. */
  readonly unary?: GrpcUnary;
  /** Undefined: nothing else is served here. */
  readonly handler?: RequestListener;
}

function sortStreams(server: Http2Server, { unary, handler }: Sorted): void {
  const grpcListeners = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");
  const toGrpc: StreamListener = (stream, headers, flags, rawHeaders) => {
    if (unary?.handle(stream, headers)) return;
    for (const listener of grpcListeners) listener.call(server, stream, headers, flags, rawHeaders);
  };
  const toHandler = handler === undefined ? toGrpc : compatible(handler);
  const sort: StreamListener = (stream, headers, flags, rawHeaders) => {
    const isGrpc = unary !== undefined && GRPC_CONTENT_TYPE.test(headers["content-type"] ?? "");
    (isGrpc ? toGrpc : toHandler)(stream, headers, flags, rawHeaders);
  };
  server.on("stream", sort);
}

/** A server's "stream" listener makes the request and response objects of node:http for a handler. */
function compatible(handler: RequestListener): StreamListener {
  const server = createServer(handler as unknown as Parameters<typeof createServer>[1]);
  return (...stream) => server.emit("stream", ...stream);
}
