import { once } from "node:events";
import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type handleBidiStreamingCall,
  type MethodDefinition,
  Server,
  type ServerOptions,
  type status,
} from "@grpc/grpc-js";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { encodeOnce } from "../gateway/encoded.ts";
import { toConnectError } from "../gateway/report.ts";
import { SlowReaders } from "../transport/slow-reader.ts";
import type { AnswerReflection } from "./reflection.ts";

export interface GrpcServerOptions {
  /** Maximum number of concurrent streams of a connection. */
  readonly maxStreams: number;
  /** Undefined: reflection is not served. */
  readonly reflect: AnswerReflection | undefined;
  /** Closes connections whose client does not read. */
  readonly slowReaders?: SlowReaders;
  /** Time limit of silence on a reflection stream, in milliseconds. Default: 30,000. */
  readonly silenceMs?: number;
}

/** Maximum size of a reflection request, in bytes: names of files and symbols. */
const MAX_REQUEST = 4 * 1024;

/**
 * Creates a grpc-js server. It manages HTTP/2 connections, serves reflection (a bidirectional
 * stream) and answers unknown methods. It does not listen: connections are injected.
 */
export function createGrpcServer({
  maxStreams,
  reflect,
  slowReaders = new SlowReaders({ together: 0, patienceMs: 30_000 }),
  silenceMs = 30_000,
}: GrpcServerOptions): Server {
  const options: ServerOptions = {
    // Statistics of the channelz service, which is not served.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": MAX_REQUEST,
    "grpc.max_concurrent_streams": maxStreams,
    // Detects vanished clients.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
  };
  const server = new WatchedServer(options, (session) => {
    slowReaders.watch(session);
    if (reflect === undefined) return;
    session.on("stream", (stream, headers) => {
      // For every transport: reflection has client streams, which have no time limit otherwise.
      if (headers[":path"]?.startsWith(REFLECTION))
        stream.setTimeout(silenceMs, () => stream.close(constants.NGHTTP2_CANCEL));
    });
  });
  if (reflect !== undefined) addReflection(server, reflect);
  return server;
}

const REFLECTION = "/grpc.reflection.";

/** Server that reports each new connection. */
class WatchedServer extends Server {
  readonly #watch: (session: ServerHttp2Session) => void;

  constructor(options: ServerOptions, watch: (session: ServerHttp2Session) => void) {
    super(options);
    this.#watch = watch;
  }

  // grpc-js creates a connection's HTTP/2 server here and keeps it in a private field; its version
  // is pinned.
  override createConnectionInjector(
    ...args: Parameters<Server["createConnectionInjector"]>
  ): ReturnType<Server["createConnectionInjector"]> {
    const injector = super.createConnectionInjector(...args);
    const { http2Servers } = this as unknown as { http2Servers: Map<Http2Server, unknown> };
    [...http2Servers.keys()].at(-1)?.on("session", this.#watch);
    return injector;
  }
}

/** Adds reflection: v1, and v1alpha with the same messages on the wire. */
function addReflection(server: Server, reflect: AnswerReflection): void {
  for (const version of ["v1", "v1alpha"])
    server.addService(
      { ServerReflectionInfo: define(`grpc.reflection.${version}.ServerReflection`) },
      { ServerReflectionInfo: handle(reflect) },
    );
}

type Reflection = MethodDefinition<ServerReflectionRequest, ServerReflectionResponse>;

function define(service: string): Reflection {
  const [input, output] = [ServerReflectionRequestSchema, ServerReflectionResponseSchema];
  return {
    path: `/${service}/ServerReflectionInfo`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message) => Buffer.from(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => encodeOnce(output, message, "proto").bytes,
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

/** Answers one request at a time, after the client has read the previous answer. */
function handle(
  reflect: AnswerReflection,
): handleBidiStreamingCall<ServerReflectionRequest, ServerReflectionResponse> {
  return async (stream) => {
    const cancelled = new Promise<void>((resolve) => stream.once("cancelled", () => resolve()));
    try {
      // The end of the requests does not end the stream.
      for await (const request of stream.iterator({ destroyOnReturn: false })) {
        if (stream.cancelled) return;
        if (!stream.write(reflect(request as ServerReflectionRequest)))
          await Promise.race([once(stream, "drain"), cancelled]);
      }
      stream.end();
    } catch (error) {
      const { code, rawMessage: details } = toConnectError(error);
      stream.emit("error", { code: code as number as status, details });
    }
  };
}
