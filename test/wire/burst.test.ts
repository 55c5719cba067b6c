import { expect, test } from "vitest";
import { http1Sender } from "./door/http.ts";
import { FRAME, RawHttp2 } from "./raw/http2.ts";
import { startService } from "./service.ts";

test("of streams that come at once those that are reset are left out, the others answered", async () => {
  const service = await startService();
  const client = await RawHttp2.open(service.port);
  const streams = Array.from({ length: 200 }, (_, at) => 2 * at + 1);
  const isReset = (stream: number): boolean => stream % 4 === 3;
  // One write: what comes in one read is more than is begun in one turn.
  client.line.socket.cork();
  for (const stream of streams) {
    const fields = { ":method": "GET", ":scheme": "http", ":authority": "a", ":path": "/ping" };
    client.headers(stream, fields, true);
    if (isReset(stream)) client.reset(stream, stream % 8 === 3 ? 8 : 2);
  }
  client.line.socket.uncork();
  const left = new Set(streams.filter((stream) => !isReset(stream)));
  await client.until(({ kind, stream, payload }) => {
    if (kind === FRAME.data && String(payload) === "pong") left.delete(stream);
    return left.size === 0;
  });
  expect((await http1Sender(service.port)("/ping", {})).status).toBe(200);
  client.line.socket.destroy();
  await service.stop();
});
