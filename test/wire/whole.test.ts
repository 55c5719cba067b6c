import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enveloped } from "./raw/cuttable.ts";
import { RawHttp2 } from "./raw/http2.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

// Requests over HTTP/2 that come whole in one read: the service has seen their end before it has let
// them in, and nobody tells of it a second time.

const NOTHING = Buffer.alloc(0);

/** A body, as the frames that it comes in; the last one ends the stream. */
const bodies = (body: Buffer): readonly (readonly [string, readonly Buffer[]])[] => [
  ["one frame", [body]],
  ["a frame, and one that ends it", [body, NOTHING]],
  ["no byte, and the end", [NOTHING]],
  ["nothing at all", []],
];

const json = Buffer.from("{}");
const calls: readonly (readonly [string, string, Buffer])[] = [
  ["/api/admin/setting/save", "application/json", Buffer.from("[]")],
  ["/mooring.v1.PublicService/Ping", "application/json", json],
  ["/mooring.v1.PublicService/Ping", "application/grpc", enveloped(NOTHING)],
  ["/mooring.v1.PublicService/Ping", "application/grpc-web+proto", enveloped(NOTHING)],
  ["/mooring.v1.SettingService/ListSettings", "application/json", json],
  ["/mooring.v1.SettingService/ListSettings", "application/proto", NOTHING],
  ["/mooring.v1.SettingService/ListSettings", "application/grpc", enveloped(NOTHING)],
  ["/mooring.v1.SettingService/ListSettings", "application/grpc-web+proto", enveloped(NOTHING)],
];

describe.each(calls)("%s as %s, at once with its body", (path, type, body) => {
  let service: TestService;

  beforeAll(async () => {
    // Longer than a test may take: a body whose end was missed must not be answered as one that is late.
    service = await startService({ env: { MOORING_BODY_TIMEOUT: "10m" } });
  });

  afterAll(() => service.stop());

  test.each(bodies(body))("as %s, is answered", async (_name, frames) => {
    const client = await RawHttp2.open(service.port);
    const last = frames.length - 1;
    client.line.socket.cork();
    client.headers(
      1,
      {
        ":method": "POST",
        ":scheme": "http",
        ":authority": "a",
        ":path": path,
        "content-type": type,
        authorization: TOKEN,
      },
      frames.length === 0,
    );
    for (const [at, bytes] of frames.entries()) client.data(1, bytes, at === last);
    client.line.socket.uncork();
    const end = await client.frame(
      ({ stream, flags, kind }) => stream === 1 && kind <= 1 && (flags & 1) === 1,
    );
    expect(end.stream).toBe(1);
    client.line.socket.destroy();
  });
});
