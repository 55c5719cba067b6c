import { constants, type ServerHttp2Session } from "node:http2";
import { createGrpcJs } from "../transport/grpc-js.ts";
import type { GrpcListener } from "../transport/http2.ts";
import { SlowReaders } from "../transport/slow-reader.ts";
import type { AnswerReflection } from "./reflection.ts";

export interface GrpcConnectionOptions {
  /** Undefined: reflection is not served. */
  readonly reflect: AnswerReflection | undefined;
  /** Closes connections whose client does not read. */
  readonly slowReaders?: SlowReaders;
  /** Time limit of silence on a reflection stream, in milliseconds. Default: 30,000. */
  readonly silenceMs?: number;
}

const REFLECTION = "/grpc.reflection.";

/** Creates the bounds of HTTP/2 connections, and the server of reflection and unknown methods. */
export function createGrpcConnections({
  reflect,
  slowReaders = new SlowReaders({ together: 0, patienceMs: 30_000 }),
  silenceMs = 30_000,
}: GrpcConnectionOptions): Required<Pick<GrpcListener, "grpcJs" | "watch">> {
  const watch = (session: ServerHttp2Session): void => {
    slowReaders.watch(session);
    if (reflect === undefined) return;
    session.on("stream", (stream, headers) => {
      // For every transport: reflection has client streams, which have no time limit otherwise.
      if (headers[":path"]?.startsWith(REFLECTION))
        stream.setTimeout(silenceMs, () => stream.close(constants.NGHTTP2_CANCEL));
    });
  };
  const load = async () => (await import("./grpc-server.ts")).createGrpcServer(reflect);
  return { grpcJs: createGrpcJs(load), watch };
}
