import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Buffered, discardRest, readBody } from "../../src/transport/body.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const bounds = { buffered: new Buffered(1_000_000), timeoutMs: 60_000, maxBytes: 1_000_000 };

test("a body that is refused is given back at once, however long its stream lives on", async () => {
  const stream = new PassThrough();
  const reading = readBody({ stream, peer: "a", hasEnded: () => true }, bounds, 100_000, () => 0);
  let kept: WeakRef<Buffer> | undefined;
  (() => {
    const chunk = Buffer.alloc(90_000);
    kept = new WeakRef(chunk);
    stream.write(chunk);
  })();
  await sleep(0);
  expect(bounds.buffered.bytes).toBe(90_000);
  stream.write(Buffer.alloc(20_000));
  await expect(reading).rejects.toThrow("larger than 100000 bytes");
  expect(bounds.buffered.bytes).toBe(0);
  // Whatever an await still holds is let go in a later turn.
  await sleep(10);
  collectGarbage();
  expect(kept?.deref()).toBeUndefined();
  expect(stream.destroyed).toBe(false);
});

test("a byte of a large read keeps no more than itself", async () => {
  const stream = new PassThrough();
  const read = { stream, peer: "a", hasEnded: () => true };
  const reading = readBody(read, bounds, 100_000, (body) => `${body}`);
  const reads: WeakRef<ArrayBuffer>[] = [];
  for (const char of "a body in slivers")
    (() => {
      const large = Buffer.alloc(64_000, char);
      reads.push(new WeakRef(large.buffer));
      stream.write(large.subarray(1_000, 1_001));
    })();
  await sleep(10);
  collectGarbage();
  expect(reads.filter((large) => large.deref() !== undefined)).toEqual([]);
  stream.end(Buffer.alloc(64_000, "!").subarray(0, 3));
  expect(await reading).toBe("a body in slivers!!!");
});

test.each([1, 2, 3, 7, 1_000, 1_025, 5_000])(
  "a body in pieces of %i bytes is the same",
  async (length) => {
    const stream = new PassThrough();
    const whole = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
    const read = { stream, peer: "a", hasEnded: (size: number) => size === whole.length };
    const reading = readBody(read, bounds, 10_000, (body) => Buffer.from(body));
    for (let at = 0; at < whole.length; at += length)
      stream.write(Buffer.from(whole.subarray(at, at + length)));
    stream.end();
    expect((await reading).equals(whole)).toBe(true);
  },
);

test("a body that grows in memory leaves no smaller copies of itself behind", async () => {
  const size = 8 * 2 ** 20;
  const large = { buffered: new Buffered(4 * size), timeoutMs: 60_000, maxBytes: size };
  const piece = Buffer.from(new ArrayBuffer(256 * 1024), 0, 64 * 1024).fill("b");
  const stream = new PassThrough();
  const read = { stream, peer: "a", hasEnded: () => true };
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const reading = readBody(read, large, size, (body) => ({
    length: body.length,
    grown: process.memoryUsage().arrayBuffers - before,
  }));
  for (let at = 0; at < size; at += piece.length) stream.write(piece);
  stream.end();
  const { length, grown } = await reading;
  expect(length).toBe(size);
  expect(grown).toBeLessThan(1.5 * size);
});

test("nothing waits for the rest of a request whose stream is over", () => {
  const stream = new PassThrough();
  stream.destroy();
  const before = process.getActiveResourcesInfo().length;
  discardRest(stream, () => undefined);
  expect(stream.listenerCount("data")).toBe(0);
  expect(process.getActiveResourcesInfo()).toHaveLength(before);
});
