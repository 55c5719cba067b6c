import { setImmediate as nextTick } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import type { DescMethodClientStreaming, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Call } from "../../src/gateway/call.ts";
import type { Method } from "../../src/gateway/method.ts";
import { made, rpcsByName } from "./contract.ts";
import { bodiesOf, echo, streaming, unary } from "./gateway-server.ts";
import { MOUNTS } from "./mount.ts";
import { textOf } from "./ways.ts";

const responseBody = "word";
const desc = rpcsByName([
  { name: "Get", http: { get: "/v1/things/{text}", responseBody }, reads: true },
  { name: "Post", http: { post: "/v1/things", body: "*", responseBody } },
  { name: "Fail", http: { post: "/v1/fail" } },
  { name: "Wait", http: { get: "/v1/wait" } },
  { name: "Long", http: { get: "/v1/long" }, reads: true },
  { name: "Read", http: { get: "/v1/read/{text}" }, streams: "reply" },
  { name: "Send", http: { post: "/v1/send/{text}", body: "part" }, streams: "request" },
]);

const box = (name: string, word: string) => made(desc(name).output, { word });

/** Waits until the call is aborted; rejects with the reason. */
function untilAborted(call: Call): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  call.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true });
  return promise;
}

/** Methods of the service of all tests, and what they observe. */
interface Service {
  /** Resolves with the reason of the next aborted call. */
  readonly aborted: Promise<unknown>;
  readonly methods: readonly Method[];
  /** Resolves when a call of Wait has begun. */
  readonly begun: Promise<void>;
}

function service(): Service {
  const long = box("Long", "a".repeat(5_000));
  const begun = Promise.withResolvers<void>();
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
  const sent: Method = {
    kind: "client_streaming",
    desc: desc("Send") as DescMethodClientStreaming,
    invoke: async (requests) => {
      const words: string[] = [];
      for await (const request of requests) {
        const { name } = (Reflect.get(request, "part") ?? {}) as { readonly name?: string };
        words.push(`${textOf(request)}/${name}`);
      }
      return { message: box("Send", words.join(" ")) };
    },
  };
  const methods = [
    echo(desc("Get")),
    echo(desc("Post")),
    sent,
    unary(desc("Fail"), () => {
      throw new ConnectError("not now", Code.FailedPrecondition);
    }),
    unary(desc("Wait"), async (_, call) => {
      begun.resolve();
      await untilAborted(call).catch((reason) => {
        resolve(reason);
        throw reason;
      });
      return {};
    }),
    unary(desc("Long"), () => long),
    streaming(desc("Read"), async function* (request, call) {
      const text = textOf(request);
      if (text === "none") return;
      yield box("Read", "a");
      if (text === "fail") throw new ConnectError("no more", Code.NotFound);
      if (text === "open")
        await untilAborted(call).catch((reason) => {
          resolve(reason);
          throw reason;
        });
      yield box("Read", "b");
    }),
  ];
  return { aborted, methods, begun: begun.promise };
}

const json = { "content-type": "application/json" };
const CONNECT = "/test.v1.ThingService/Get";
const status = (code: Code) => expect.objectContaining({ code, message: expect.any(String) });
const ONE = '{"names":[],"labels":{},"word":"a","revision":"0","version":"","yes":false}';
const TWO = ONE.replace('"a"', '"b"');
const type = (name: string) => ({ "content-type": name });

const post = (body?: RequestInit["body"], headers: Record<string, string> = json): RequestInit => ({
  method: "POST",
  headers,
  ...(body !== undefined && { body }),
});
const lines = (body: string) => post(body, type("application/x-ndjson"));
const withHeader = (name: string, value: string): RequestInit => ({ headers: { [name]: value } });
const asArray = withHeader("accept", "application/json");
const asEvents = withHeader("accept", "text/event-stream");
const late = withHeader("grpc-timeout", "20m");
const unclear = withHeader("x-server-timeout", "soon");
const LONG = `"${"a".repeat(70_000)}"`;
const QUERY = `encoding=json&message=${encodeURIComponent('{"text":"a"}')}`;
const GRPC_WEB = type("application/grpc-web+proto");

const word = (text: string) => expect.objectContaining({ word: text });
const INVALID = status(Code.InvalidArgument);
const TOO_LARGE = status(Code.ResourceExhausted);
const UNIMPLEMENTED = status(Code.Unimplemented);
const ARRAY = `[${ONE},\n${TWO}]`;
const EVENTS = `data: ${ONE}\n\ndata: ${TWO}\n\n`;
const FAILED = `${ONE}\n{"error":{"code":5,"message":"no more"}}\n`;
const FAILED_EVENTS = `data: ${ONE}\n\nevent: error\ndata: {"code":5,"message":"no more"}\n\n`;

/** Name, path, request, status, the body as text or parsed JSON (`isJsonIn`), and some headers. */
const CASES: readonly [string, string, RequestInit, number, unknown, Record<string, string>?][] = [
  ["a read", "/v1/things/a%20b?small=1", {}, 200, '{"text":"a b","small":1}'],
  ["HEAD", "/v1/things/a", { method: "HEAD" }, 200, "", { "content-length": "18" }],
  ["a write", "/v1/things", post('{"yes":true}'), 200, '{"yes":true}'],
  ["a wrong value", "/v1/things/a?small=x", {}, 400, INVALID],
  ["a body that is not JSON", "/v1/things", post("{"), 400, INVALID],
  ["a body of another type", "/v1/things", post("x", type("text/plain")), 415, INVALID],
  ["a body over the bound", "/v1/things", post(LONG), 413, TOO_LARGE],
  ["an error of the rpc", "/v1/fail", post(), 400, { code: 9, message: "not now" }],
  [
    "another method",
    "/v1/things",
    { method: "PUT" },
    405,
    UNIMPLEMENTED,
    { allow: "POST, OPTIONS" },
  ],
  ["OPTIONS", "/v1/things/a", { method: "OPTIONS" }, 204, "", { allow: "GET, HEAD, OPTIONS" }],
  ["an unknown path below a rule's", "/v1/things/a/b", {}, 404, expect.anything()],
  ["a deadline", "/v1/wait", late, 504, status(Code.DeadlineExceeded)],
  ["a wrong deadline", "/v1/wait", unclear, 400, INVALID],
  ["a stream of lines", "/v1/read/x", {}, 200, `${ONE}\n${TWO}\n`, type("application/x-ndjson")],
  ["an array", "/v1/read/x", asArray, 200, ARRAY, type("application/json; charset=utf-8")],
  ["an empty array", "/v1/read/none", asArray, 200, "[]"],
  ["a stream of events", "/v1/read/x", asEvents, 200, EVENTS, type("text/event-stream")],
  ["a stream that fails", "/v1/read/fail", {}, 200, FAILED],
  ["events that fail", "/v1/read/fail", asEvents, 200, FAILED_EVENTS],
  ["a client stream", "/v1/send/p", lines('{"name":"a"}\n\n{"name":"b"}'), 200, word("p/a p/b")],
  ["an empty client stream", "/v1/send/p", post(undefined, {}), 200, word("")],
  [
    "a client stream with a wrong line",
    "/v1/send/p",
    lines('{"name":"a"}\n{"name":'),
    400,
    INVALID,
  ],
  ["a line over the bound", "/v1/send/p", lines(`{"name":${LONG}}`), 413, TOO_LARGE],
  ["blank lines over the bound", "/v1/send/p", lines("\n".repeat(70_000)), 413, TOO_LARGE],
  ["Connect", CONNECT, post('{"text":"a"}'), 200, word('{"text":"a"}'), json],
  ["Connect by GET", `${CONNECT}?${QUERY}`, {}, 200, word('{"text":"a"}'), json],
  ["Connect with another method", CONNECT, { method: "PUT" }, 405, "", { allow: "GET, POST" }],
  ["Connect with another type", CONNECT, post("x", type("x/y")), 415, ""],
  [
    "gRPC-Web",
    CONNECT,
    post(new Uint8Array(5), GRPC_WEB),
    200,
    expect.stringContaining("grpc-status: 0"),
    GRPC_WEB,
  ],
];

/** Reports whether a case has its body as JSON: a text of the rpc alone, or members of an object. */
function isJsonIn(text: string, expected: unknown): boolean {
  return text.startsWith('"') || (typeof expected === "object" && text.startsWith("{"));
}

describe.each(MOUNTS)("over %s", (_, mount) => {
  test.each(CASES)("%s", async (_name, path, init, code, body, headers = {}) => {
    const ask = await mount({ methods: service().methods, bounds: bodiesOf(65_536) });
    const response = await ask(path, init);
    const text = await response.text();
    const received = isJsonIn(text, body) ? JSON.parse(text) : text;
    expect([response.status, received]).toEqual([code, body]);
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
  });

  test("a compressed reply is negotiated by Accept-Encoding", async () => {
    const ask = await mount({ methods: service().methods });
    const response = await ask("/v1/long", { headers: { "accept-encoding": "gzip" } });
    expect(response.headers.get("vary")).toBe("Accept-Encoding");
    expect(response.headers.get("content-encoding")).toBe("gzip");
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString();
    expect(JSON.parse(text)).toMatchObject({ word: "a".repeat(5_000) });
  });

  test("an aborted request ends the call with CANCELED", async () => {
    const { methods, aborted, begun } = service();
    const ask = await mount({ methods });
    const client = new AbortController();
    const pending = ask("/v1/wait", { signal: client.signal }).catch(() => undefined);
    await begun;
    client.abort();
    expect(await aborted).toMatchObject({ code: Code.Canceled });
    await pending;
  });

  test("a stream is read incrementally, and ends when its reader cancels it", async () => {
    const { methods, aborted } = service();
    const ask = await mount({ methods });
    const response = await ask("/v1/read/open");
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(`${ONE}\n`);
    await reader?.cancel();
    expect(await aborted).toMatchObject({ code: Code.Canceled });
  });

  test("messages of a client stream are read incrementally", async () => {
    const [send] = service().methods.filter(({ kind }) => kind === "client_streaming");
    const first = Promise.withResolvers<void>();
    const method = {
      ...send,
      invoke: async (requests: AsyncIterable<Message>) => {
        let count = 0;
        for await (const _ of requests) {
          count += 1;
          first.resolve();
        }
        return { message: box("Send", String(count)) };
      },
    } as Method;
    const ask = await mount({ methods: [method] });
    let close: (() => void) | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(Buffer.from('{"name":"a"}\n{"na'));
        close = () => {
          controller.enqueue(Buffer.from('me":"b"}\n'));
          controller.close();
        };
      },
    });
    const headers = type("application/x-ndjson");
    const pending = ask("/v1/send/p", { method: "POST", headers, body });
    await first.promise;
    close?.();
    expect(await (await pending).json()).toMatchObject({ word: "2" });
  });

  test("a client stream of blank lines ends when its first message is late", async () => {
    const bounds = { ...bodiesOf(2 ** 30), timeoutMs: 30_000 };
    const ask = await mount({ methods: service().methods, bounds });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let isAnswered = false;
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await nextTick();
        vi.advanceTimersByTime(100);
        sent += 1;
        // 100 s of blank lines: the bound of this test if the call did not end at 30 s.
        if (isAnswered || sent > 1_000) controller.close();
        else controller.enqueue(Buffer.from(" \n"));
      },
    });
    const headers = type("application/x-ndjson");
    const response = await ask("/v1/send/p", { method: "POST", headers, body });
    isAnswered = true;
    expect([response.status, await response.json()]).toEqual([408, status(Code.DeadlineExceeded)]);
  });

  test("the body of a call that is not admitted is not read", async () => {
    const admit = () => {
      throw new ConnectError("no token", Code.Unauthenticated);
    };
    const ask = await mount({ methods: service().methods, admit });
    const response = await ask("/v1/things", { method: "POST", headers: json, body: "{" });
    expect([response.status, await response.json()]).toEqual([
      401,
      { code: 16, message: "no token" },
    ]);
  });
});
