import { expect, onTestFinished, test } from "vitest";
import { startedForAll } from "../started.ts";
import { FRAME, RawHttp2 } from "./raw/http2.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

const GRPC = {
  ":method": "POST",
  ":scheme": "http",
  ":authority": "127.0.0.1",
  ":path": "/unknown.Service/Method",
  "content-type": "application/grpc",
  te: "trailers",
};

/** Headers that a client's HTTP/2 library would not send. */
const odd: readonly Readonly<Record<string, string>>[] = [
  { "http2-settings": "x" },
  { te: "Trailers" },
  { te: "trailers, deflate" },
  { te: "" },
  { host: "other" },
  { "transfer-encoding": "chunked" },
  { connection: "close" },
  { "keep-alive": "1" },
  { "proxy-connection": "close" },
  { upgrade: "h2c" },
  { "content-length": "5" },
  { "content-length": "-1" },
  { ":protocol": "websocket" },
  { ":status": "200" },
  { "grpc-timeout": "x".repeat(2_000) },
  { "bad name": "x" },
  { "": "x" },
  { "x-bin": "\u00e4" },
  { "x-text": "a\tb" },
  { cookie: "a=b" },
];

test.each(odd.map((headers) => [JSON.stringify(headers).slice(0, 60), headers] as const))(
  "a gRPC call of an unknown method with %s has an end, and others are served",
  async (_name, headers) => {
    for (const path of ["/unknown.Service/Method", "/grpc.reflection.v1.ServerReflection/X"]) {
      const raw = await RawHttp2.open(service.port);
      raw.headers(1, { ...GRPC, ":path": path, ...headers }, true);
      await raw.frame(
        ({ kind, stream }) =>
          kind === FRAME.goaway ||
          (stream === 1 && (kind === FRAME.headers || kind === FRAME.reset)),
      );
      raw.line.socket.destroy();
      const { status } = await fetch(`http://127.0.0.1:${service.port}/ping`);
      expect(status).toBe(200);
    }
  },
);

test.each([undefined, "wrong", TOKEN])(
  "a call that is reset while its token %s is checked ends, and others are served",
  async (token) => {
    const guarded = await startService({ env: { MOORING_REFLECTION: "token" } });
    onTestFinished(() => guarded.stop());
    for (let round = 0; round < 20; round += 1) {
      const raw = await RawHttp2.open(guarded.port);
      raw.line.socket.cork();
      for (let stream = 1; stream < 20; stream += 2) {
        raw.headers(stream, { ...GRPC, ...(token !== undefined && { authorization: token }) });
        raw.reset(stream, 8);
      }
      raw.line.socket.uncork();
      await raw.settled();
      raw.line.socket.destroy();
    }
    expect((await fetch(`http://127.0.0.1:${guarded.port}/ping`)).status).toBe(200);
  },
);
