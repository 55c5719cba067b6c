import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { cuttables, fieldsOf } from "./raw/cuttable.ts";
import { FRAME, RawHttp2 } from "./raw/http2.ts";
import { Witness } from "./raw/witness.ts";
import { startService } from "./service.ts";
import { http1Sender } from "./transport/http.ts";

test("concurrent streams that are reset are left out, and the others answered", async () => {
  const service = await startService();
  const client = await RawHttp2.open(service.port);
  const streams = Array.from({ length: 200 }, (_, at) => 2 * at + 1);
  const isReset = (stream: number): boolean => stream % 4 === 3;
  // One write: a single read has more requests than are started in one tick.
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

/** Service of all requests, none of which is executed. */
const witness = startedForAll(() => Witness.start());

test.each(
  cuttables
    .filter(({ does }) => does === "save" || does === "reset")
    .map((one) => [one.name, one] as const),
)(
  "no stream that is reset in the same read is executed, of many at once: %s",
  async (_name, one) => {
    const before = await witness.state();
    const whole = Buffer.concat([one.body.first, one.body.rest]);
    for (const sends of [
      // All that it needs, all of it with its end, and an end without a byte.
      (client: RawHttp2, stream: number) => client.data(stream, one.body.first),
      (client: RawHttp2, stream: number) => client.data(stream, whole),
      (client: RawHttp2, stream: number) => client.data(stream, whole, true),
      (client: RawHttp2, stream: number) => client.data(stream, Buffer.alloc(0), true),
    ]) {
      const client = await RawHttp2.open(witness.service.port);
      client.line.socket.cork();
      for (let stream = 1; stream < 80; stream += 2) {
        client.headers(stream, fieldsOf(one));
        sends(client, stream);
        client.reset(stream, stream % 4 === 1 ? 8 : 2);
      }
      client.line.socket.uncork();
      await client.settled();
      expect(await witness.state()).toEqual(before);
      client.line.socket.destroy();
    }
  },
);
