import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { createGrpcTransport, type GrpcTransportOptions } from "@connectrpc/connect-node";
import { onTestFinished } from "vitest";
import { createGrpcHandler } from "../../src/gateway/grpc.ts";
import type { Method } from "../../src/gateway/method.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { type Outcome, rpc, type Sending, wordOf } from "./ways.ts";

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
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return ["Post", "Read"].map((name) => ({
    name: `gRPC ${name}`,
    call: (sending) => callRpc(baseUrl, name, sending),
  }));
}

async function callRpc(baseUrl: string, name: string, sending: GrpcSending = {}): Promise<Outcome> {
  const { text = "a", headers = {}, timeoutMs, client = {}, members = {} } = sending;
  const desc = rpc(name) as never;
  const transport = createGrpcTransport({ baseUrl, ...client });
  const fields = { text, ...members } as Record<string, unknown>;
  const message = create(rpc(name).input, fields) as never;
  try {
    if (rpc(name).methodKind === "unary") {
      const reply = await transport.unary(desc, undefined, timeoutMs, headers, message);
      return { code: undefined, words: [wordOf(reply.message)], headers: reply.header };
    }
    const only = (async function* () {
      yield message;
    })();
    const reply = await transport.stream(desc, undefined, timeoutMs, headers, only);
    const words: string[] = [];
    for await (const one of reply.message) words.push(wordOf(one as Message));
    return { code: undefined, words, headers: reply.header };
  } catch (error) {
    const { code, rawMessage, metadata } = ConnectError.from(error);
    return { code, message: rawMessage, headers: metadata };
  }
}
