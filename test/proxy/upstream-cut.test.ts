import { type EventEmitter, once } from "node:events";
import { createServer as createBehind, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RawHttp2 } from "../wire/raw/http2.ts";
import { dial } from "../wire/raw/line.ts";
import { listening, pipeTo, soon } from "./piped.ts";

/** Paths and halves that the upstream received, complete requests, and aborted ones. */
const begun: string[] = [];
/** Errors of failed requests to the upstream. */
const failures: string[] = [];
/** Requests given to the pipe, and those that it reports as finished. */
const passed: string[] = [];
const over: string[] = [];
const whole: string[] = [];
const cut: string[] = [];

const behind = createBehind((request, response) => {
  const { url = "" } = request;
  let body = "";
  request.on("data", (chunk) => {
    body += String(chunk);
    begun.push(`${url} ${body}`);
  });
  request.on("error", () => undefined);
  request.on("close", () => {
    if (!request.complete) cut.push(url);
  });
  request.on("end", () => {
    whole.push(`${url} ${body}`);
    response.end("done");
  });
});

let port2 = 0;
let port1 = 0;
let close = (): void => undefined;

beforeAll(async () => {
  const pipe = pipeTo(await listening(behind), {
    bounds: { all: 9, eachPeer: 9 },
    authorizationOf: ({ headers }) => headers.authorization,
    onFailure: (reason) => failures.push(reason),
  });
  const handler = async (request: unknown, response: unknown): Promise<void> => {
    const { url = "", socket, stream } = request as IncomingMessage & { stream?: EventEmitter };
    if (url.startsWith("/late")) await once(stream ?? socket, "close");
    passed.push(url);
    await pipe.pass(request as IncomingMessage, response as never);
    over.push(url);
  };
  const [http2, http1] = [createHttp2(handler), createBehind(handler)];
  port2 = await listening(http2 as unknown as Server);
  port1 = await listening(http1);
  close = () => {
    pipe.close();
    http2.close();
    http1.close();
    behind.closeAllConnections();
    behind.close();
  };
});

afterAll(() => close());

const cuts: readonly (readonly [string, (client: RawHttp2) => void])[] = [
  ["RST_STREAM 8", (client) => client.reset(1, 8)],
  ["RST_STREAM 0", (client) => client.reset(1, 0)],
  ["RST_STREAM 2", (client) => client.reset(1, 2)],
  ["FIN", ({ line }) => void line.socket.end()],
  ["a TCP reset", ({ line }) => void line.socket.resetAndDestroy()],
];

test.each([
  ["HTTP/1.1", 1],
  ["HTTP/2", 2],
])(
  "requests whose clients disconnect while they are queued are finished, and no longer counted: %s",
  async (name, version) => {
    const paths = Array.from({ length: 10 }, (_, at) => `/late-${version}-${at}`);
    for (const path of paths) {
      if (version === 1) {
        const line = await dial(port1);
        line.socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`, () => line.socket.destroy());
      } else {
        const client = await RawHttp2.open(port2);
        client.headers(1, {
          ":method": "PUT",
          ":scheme": "http",
          ":authority": "a",
          ":path": path,
        });
        client.reset(1, 8);
      }
    }
    await soon(() => expect(passed).toEqual(expect.arrayContaining(paths)));
    await soon(() => expect(over).toEqual(expect.arrayContaining(paths)));
    const reply = await fetch(`http://127.0.0.1:${port1}/after-${name.length}`);
    expect([reply.status, await reply.text()]).toEqual([200, "done"]);
  },
);

describe.each([
  ["without its length", {}],
  ["with its length", { "content-length": "8" }],
])("a request to the upstream, %s,", (name, length) => {
  const open = async (path: string): Promise<RawHttp2> => {
    const client = await RawHttp2.open(port2);
    client.headers(1, {
      ":method": "PUT",
      ":scheme": "http",
      ":authority": "a",
      ":path": path,
      ...length,
    });
    client.data(1, Buffer.from("half"));
    await soon(() => expect(begun).toContain(`${path} half`));
    return client;
  };

  test.each(cuts)(
    "is aborted there as well when it is aborted here by %s",
    async (how, breakOff) => {
      const path = `/${encodeURIComponent(`${name} ${how}`)}`;
      breakOff(await open(path));
      await soon(() => expect([...cut, ...whole]).toContainEqual(expect.stringContaining(path)));
      expect(whole.join()).not.toContain(path);
      expect(cut).toContain(path);
    },
  );

  test("is passed on completely", async () => {
    const client = await open("/all");
    client.data(1, Buffer.from("more"), true);
    await client.until(({ stream, payload }) => stream === 1 && payload.includes("done"));
    expect(whole).toContain("/all halfmore");
  });
});

test("a request over HTTP/1.1 is aborted there as well", async () => {
  for (const framing of ["transfer-encoding: chunked", "content-length: 99"]) {
    const path = `/${encodeURIComponent(framing)}`;
    const line = await dial(port1);
    line.socket.write(`PUT ${path} HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n4\r\nhalf\r\n`);
    await soon(() => expect(begun.join()).toContain(path));
    line.socket.end();
    await soon(() => expect([...cut, ...whole].join()).toContain(path));
    expect(whole.join()).not.toContain(path);
  }
});

test("none of this counts as a failure of the upstream", () => {
  expect(failures).toEqual([]);
});
