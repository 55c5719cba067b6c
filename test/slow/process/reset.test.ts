import { connect, constants } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startedMooring } from "../../process/mooring.ts";

/** Each reset is at another moment of the stream: before its listeners exist, or after its end. */
const PAUSES = [0, 0, 0, 0, 1, 5];

test.each([
  ["a save", "/api/admin/setting/save", "application/json"],
  ["Connect", "/mooring.v1.PublicService/Ping", "application/json"],
  ["gRPC", "/mooring.v1.PublicService/Ping", "application/grpc"],
  ["gRPC with another codec", "/mooring.v1.PublicService/Ping", "application/grpc+json"],
  ["an unknown path", "/nowhere", "application/json"],
])("a stream that its client resets with an error disturbs no other: %s", async (_, path, type) => {
  const mooring = await startedMooring();
  const at = `http://127.0.0.1:${mooring.port()}`;
  for (let round = 0; round < 10; round += 1)
    for (const pause of PAUSES) {
      const client = connect(at).on("error", () => undefined);
      const stream = client.request({ ":method": "POST", ":path": path, "content-type": type });
      stream.on("error", () => undefined).write("[]");
      if (pause > 0) await sleep(pause);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      await sleep(5);
      client.destroy();
    }
  expect(await (await fetch(`${at}/ping`)).text()).toBe("pong");
});
