import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { END_STREAM, FRAME, RawHttp2 } from "./raw/http2.ts";
import { startService, TOKEN } from "./service.ts";

// Requests over HTTP/2 that arrive in one read: the service has received their end before their
// admission, and there is no second event.

const NOTHING = Buffer.alloc(0);

/** A body as frames; the last one ends the stream. */
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
  ["/mooring.v1.SettingService/GetSetting", "application/json", json],
  ["/mooring.v1.SettingService/GetSetting", "application/proto", NOTHING],
  ["/mooring.v1.SettingService/GetSetting", "application/grpc", enveloped(NOTHING)],
  ["/mooring.v1.SettingService/GetSetting", "application/grpc-web+proto", enveloped(NOTHING)],
];

describe.each(calls)("%s as %s, at once with its body", (path, type, body) => {
  // Longer than a test may take: a missed end of a body must not be answered like a late one.
  const service = startedForAll(() => startService({ env: { MOORING_BODY_TIMEOUT: "10m" } }));

  test.each(bodies(body))("as %s, is answered, each of many", async (_name, frames) => {
    const client = await RawHttp2.open(service.port);
    // More than are started in one tick of the event loop.
    const open = new Set(Array.from({ length: 40 }, (_, at) => 2 * at + 1));
    client.line.socket.cork();
    for (const stream of open) {
      const fields = { ":method": "POST", ":scheme": "http", ":authority": "a", ":path": path };
      const headers = { ...fields, "content-type": type, authorization: TOKEN };
      client.headers(stream, headers, frames.length === 0);
      for (const [at, bytes] of frames.entries())
        client.data(stream, bytes, at === frames.length - 1);
    }
    client.line.socket.uncork();
    await client.until(({ stream, flags, kind }) => {
      const isEnd = (kind === FRAME.headers || kind === FRAME.data) && (flags & END_STREAM) !== 0;
      if (isEnd) open.delete(stream);
      return open.size === 0;
    });
    expect(open.size).toBe(0);
    client.line.socket.destroy();
  });
});
