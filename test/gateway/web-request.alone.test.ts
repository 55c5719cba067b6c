import { setImmediate as nextTick } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Message } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { type RestHandlerOptions, restHandler } from "../../src/gateway/fetch.ts";
import type { Method } from "../../src/gateway/method.ts";
import { Buffered } from "../../src/transport/body.ts";
import { made, rpcsByName } from "./contract.ts";
import { streaming, unary } from "./gateway-server.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

// Requests of hostile clients, in the form of a runtime with the Fetch API.
const desc = rpcsByName([
  { name: "Get", http: { get: "/v1/things" }, reads: true },
  { name: "Post", http: { post: "/v1/things", body: "*" } },
  { name: "Read", http: { get: "/v1/read" }, streams: "reply" },
  { name: "Send", http: { post: "/v1/send", body: "part" }, streams: "request" },
]);

const box = (name: string) => made(desc(name).output, { word: "a" });

function handler(options: Partial<RestHandlerOptions> = {}) {
  const calls: string[] = [];
  const count = (name: string) =>
    unary(desc(name), () => {
      calls.push(name);
      return box(name);
    });
  const send = {
    kind: "client_streaming",
    desc: desc("Send"),
    invoke: async (requests: AsyncIterable<Message>) => {
      for await (const _ of requests) calls.push("message");
      calls.push("Send");
      return { message: box("Send") };
    },
  } as unknown as Method;
  const read = streaming(desc("Read"), async function* () {
    yield box("Read");
    await new Promise(() => undefined);
  });
  const handle = restHandler({ methods: [count("Get"), count("Post"), send, read], ...options });
  return { handle, calls };
}

/** A body whose chunks the test sends. */
function openBody() {
  const cancelled = Promise.withResolvers<void>();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start: (one) => {
      controller = one;
    },
    cancel: () => cancelled.resolve(),
  });
  return {
    stream,
    cancelled: cancelled.promise,
    send: (text: string) => controller?.enqueue(Buffer.from(text)),
    end: () => controller?.close(),
  };
}

const post = (path: string, init: RequestInit) =>
  new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    duplex: "half",
    ...init,
  });

describe("a request of the Fetch API", () => {
  test.each(["/v1/things", "/v1/send"])(
    "whose client disconnects within its body to %s is not executed, and its bytes are released",
    async (path) => {
      const buffered = new Buffered(2 ** 20);
      const { handle, calls } = handler({ bounds: { buffered } });
      const { stream, cancelled, send } = openBody();
      const client = new AbortController();
      const reply = handle(post(path, { body: stream, signal: client.signal }));
      send('{"name":');
      while (buffered.bytes === 0) await nextTick();
      client.abort();
      expect((await reply).status).toBe(499);
      await cancelled;
      expect([buffered.bytes, calls]).toEqual([0, []]);
    },
  );

  test("in chunks of one byte needs memory for its bytes and a constant", async () => {
    const { handle, calls } = handler({ bounds: { maxBytes: 200_000, timeoutMs: 600_000 } });
    const { stream, send } = openBody();
    const reply = handle(post("/v1/things", { body: stream }));
    collect();
    const before = process.memoryUsage();
    for (let count = 0; count < 100_000; count += 1) {
      send(" ");
      if (count % 1_000 === 0) await nextTick();
    }
    collect();
    const after = process.memoryUsage();
    expect(after.heapUsed - before.heapUsed).toBeLessThan(8 * 2 ** 20);
    send("x".repeat(200_000));
    expect((await reply).status).toBe(413);
    expect(calls).toEqual([]);
  });

  test("with an address longer than a server accepts is 414", async () => {
    const { handle, calls } = handler();
    const reply = await handle(
      new Request(`http://localhost/v1/things?text=${"a".repeat(70_000)}`),
    );
    expect([reply.status, await reply.json()]).toEqual([
      414,
      { code: 3, message: "the address is longer than 65536 characters" },
    ]);
    expect(calls).toEqual([]);
  });

  test("whose body was read before is an error at once, and leaves no timer", async () => {
    const { handle, calls } = handler();
    const request = post("/v1/things", { body: "{}" });
    await request.text();
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    expect((await handle(request)).status).toBe(500);
    expect(timers()).toBeLessThanOrEqual(before);
    expect(calls).toEqual([]);
  });

  test("that is aborted ends its streamed response, too", async () => {
    const { handle } = handler();
    const client = new AbortController();
    const reply = await handle(new Request("http://localhost/v1/read", { signal: client.signal }));
    const reader = reply.body?.getReader();
    await reader?.read();
    const rest = reader?.read();
    client.abort();
    await expect(rest).rejects.toThrow("the client disconnected");
  });
});
