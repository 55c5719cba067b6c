import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openSession, send } from "../../../bench/attack/request/send.ts";

test("four requests of the longest body are sent at a time", async () => {
  const size = 8 * 2 ** 20;
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on("data", (piece: Buffer) => {
      bytes += piece.length;
    });
    request.on("end", () => response.end(`${bytes}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const session = openSession((server.address() as AddressInfo).port);
  onTestFinished(() => session.destroy());
  const wire = { headers: { ":method": "POST", ":path": "/" }, body: Buffer.alloc(size) };
  const sizes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const pieces = await send(session, wire).toArray();
      return Number(Buffer.concat(pieces).toString());
    }),
  );
  expect(sizes).toEqual([size, size, size, size]);
});
