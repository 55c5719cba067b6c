import { createServer, type ServerHttp2Stream } from "node:http2";
import { createGrpcTransport, type GrpcTransportOptions } from "@connectrpc/connect-node";
import { createGrpcHandler } from "../../src/gateway/grpc.ts";
import type { Method } from "../../src/gateway/method.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { serve } from "../loopback.ts";
import { made } from "./contract.ts";
import { type Outcome, outcomeOver, rpc, type Sending } from "./ways.ts";

export interface GrpcSending extends Sending {
  readonly client?: Partial<GrpcTransportOptions>;
  /** Further members of the request. */
  readonly members?: Record<string, unknown>;
}

/** A way to call the service over gRPC. */
export interface GrpcWay {
  readonly name: string;
  readonly call: (sending?: GrpcSending) => Promise<Outcome>;
}

/** Serves methods over gRPC until the test ends: a unary rpc and a server stream. */
export async function serveGrpc(methods: readonly Method[]): Promise<readonly GrpcWay[]> {
  const slowReaders = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 30_000 });
  const handler = createGrpcHandler({ methods, requestId: () => "id", slowReaders });
  const server = createServer();
  server.on("stream", (opened, headers) => {
    const stream = opened as ServerHttp2Stream;
    stream.on("error", () => undefined);
    if (!handler.handle(stream, headers)) stream.respond({ ":status": 404 }, { endStream: true });
  });
  const baseUrl = `http://127.0.0.1:${(await serve(server)).port}`;
  return ["Post", "Read"].map((name) => ({
    name: `gRPC ${name}`,
    call: (sending) => callRpc(baseUrl, name, sending),
  }));
}

async function callRpc(baseUrl: string, name: string, sending: GrpcSending = {}): Promise<Outcome> {
  const { text = "a", client = {}, members = {}, ...options } = sending;
  const transport = createGrpcTransport({ baseUrl, ...client });
  const message = made(rpc(name).input, { text, ...members });
  return outcomeOver(transport, rpc(name), message, options);
}
