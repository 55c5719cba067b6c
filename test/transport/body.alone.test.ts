import { PassThrough } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Buffered, discardRest, readBody } from "../../src/transport/body.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const bounds = { buffered: new Buffered(1_000_000), timeoutMs: 60_000, maxBytes: 1_000_000 };

test("the bytes of a refused body are released at once, for any lifetime of its stream", async () => {
  const stream = new PassThrough();
  const reading = readBody({ stream, peer: "a", hasEnded: () => true }, bounds, 100_000, () => 0);
  let kept: WeakRef<Buffer> | undefined;
  (() => {
    const chunk = Buffer.alloc(90_000);
    kept = new WeakRef(chunk);
    stream.write(chunk);
  })();
  await expect.poll(() => bounds.buffered.bytes).toBe(90_000);
  stream.write(Buffer.alloc(20_000));
  await expect(reading).rejects.toThrow("larger than 100000 bytes");
  expect(bounds.buffered.bytes).toBe(0);
  // Values that an await still references are released in a later tick.
  const isKept = (): boolean => {
    collectGarbage();
    return kept?.deref() !== undefined;
  };
  await expect.poll(isKept).toBe(false);
  expect(stream.destroyed).toBe(false);
});

test("a byte of a large read does not retain the read", async () => {
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
  const retained = (): number => {
    collectGarbage();
    return reads.filter((large) => large.deref() !== undefined).length;
  };
  await expect.poll(retained).toBe(0);
  stream.end(Buffer.alloc(64_000, "!").subarray(0, 3));
  expect(await reading).toBe("a body in slivers!!!");
});

test.each([1, 2, 3, 7, 1_000, 1_025, 5_000])(
  "a body in chunks of %i bytes is the same",
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

test("a growing body leaves no smaller copies in memory", async () => {
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

/** Sends a body in chunks of 64 KiB. */
function sending(size: number): PassThrough {
  const stream = new PassThrough({ highWaterMark: 2 * size });
  for (let left = size; left > 0; left -= 65_536) stream.write(Buffer.alloc(65_536, "b"));
  stream.end();
  return stream;
}

test("the memory of a large body is released as soon as it is used", async () => {
  const size = 8 * 2 ** 20;
  const large = { buffered: new Buffered(4 * size), timeoutMs: 60_000, maxBytes: size };
  const read = { stream: sending(size), peer: "a", hasEnded: () => true };
  const body = await readBody(read, large, size, (bytes) => bytes);
  expect(body.length).toBe(0);
  expect(body.buffer.byteLength).toBe(0);
});

test("a body needs no more memory than its bound", async () => {
  const size = 5 * 2 ** 20;
  const large = { buffered: new Buffered(4 * size), timeoutMs: 60_000, maxBytes: size };
  const read = { stream: sending(size), peer: "a", hasEnded: () => true };
  const room = await readBody(read, large, size, ({ buffer }) => buffer.byteLength);
  expect(room).toBe(size);
});

test("large bodies are processed one after another, with other work in between", async () => {
  const size = 2 ** 20;
  const large = { buffered: new Buffered(64 * size), timeoutMs: 60_000, maxBytes: size };
  const order: string[] = [];
  const reading = (name: string): Promise<void> =>
    readBody({ stream: sending(size), peer: "a", hasEnded: () => true }, large, size, async () => {
      order.push(`${name} begins`);
      setImmediate(() => order.push("other work"));
      // Another body would begin in the meantime.
      for (let tick = 0; tick < 3; tick += 1) await nextTick();
      order.push(`${name} ends`);
      if (name === "b") throw new Error("b fails");
    });
  const results = await Promise.allSettled(["a", "b", "c"].map(reading));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(order.filter((what) => what !== "other work")).toEqual(
    ["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
  expect(order.indexOf("other work")).toBeLessThan(order.indexOf("b begins"));
});

test("nothing waits for the rest of a request whose stream has ended", () => {
  const stream = new PassThrough();
  stream.destroy();
  const before = process.getActiveResourcesInfo().length;
  discardRest(stream, () => undefined);
  expect(stream.listenerCount("data")).toBe(0);
  expect(process.getActiveResourcesInfo()).toHaveLength(before);
});
