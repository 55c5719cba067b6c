import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DISCARDING } from "../../src/transport/body.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { type TestService, TOKEN } from "./service.ts";
import { inFront, inFrontOf, listening, startFront } from "./upstream.ts";

function overHttp2(service: TestService, head: Record<string, string>): ClientHttp2Stream {
  const session = connectHttp2(`http://127.0.0.1:${service.port}`);
  onTestFinished(() => session.destroy());
  return session.request({ ":path": "/file", ...head }).on("error", () => undefined);
}

/** Sends bytes over a new connection. @returns the first bytes of the reply. */
async function sendRaw(service: TestService, text: string): Promise<string> {
  const socket = connect(service.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined).write(text, "latin1");
  return String((await once(socket, "data"))[0]);
}

async function isAlive(service: TestService): Promise<void> {
  expect(await (await fetch(`http://127.0.0.1:${service.port}/ping`)).text()).toBe("pong");
}

describe("the headers listed in Connection", () => {
  test.each(["GET", "DELETE", "HEAD", "POST"])(
    "never include those that frame a message: %s",
    async (method) => {
      const seen: string[] = [];
      const server = createHttp((request, response) => {
        let body = "";
        request.setEncoding("latin1").on("data", (part: string) => {
          body += part;
        });
        request.on("end", () => {
          seen.push([request.method, request.url, request.headers.host, body].join(" "));
          response.end();
        });
      });
      const service = await inFront(await listening(server));
      seen.length = 0;
      const body = "GET /another HTTP/1.1\r\nHost: evil\r\n\r\n";
      await sendRaw(
        service,
        `${method} /file HTTP/1.1\r\nHost: a\r\nConnection: content-length, host\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await fetch(`http://127.0.0.1:${service.port}/next`);
      expect(seen.filter((line) => !line.includes("/api/"))).toEqual([
        `${method} /file a ${body}`,
        `GET /next 127.0.0.1:${service.port} `,
      ]);
    },
  );
});

describe("unusual heads of an upstream", () => {
  test.each([
    ["a name twice", 'ETag: "a"\r\nETag: "b"\r\n', { ":status": 200, etag: '"a", "b"' }],
    [
      "a Location twice",
      "Location: /a\r\nLocation: /b\r\n",
      { ":status": 200, location: "/a, /b" },
    ],
    ["HTTP/2's own", "HTTP2-Settings: AAMAAABk\r\n", { ":status": 200 }],
    ["a name of every object", "__proto__: a\r\nconstructor: b\r\n", { ":status": 200 }],
    ["two cookies", "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n", { "set-cookie": ["a=1", "b=2"] }],
  ])("over HTTP/2: %s", async (_, lines, expected) => {
    const service = await inFrontOf(`HTTP/1.1 200 OK\r\n${lines}Content-Length: 2\r\n\r\nok`);
    const [head] = await once(overHttp2(service, {}).resume(), "response");
    expect(head).toMatchObject(expected);
    await isAlive(service);
  });

  test("over HTTP/2: an invalid status leaves nothing of its head", async () => {
    const service = await inFrontOf(
      "HTTP/1.1 999 X\r\nSet-Cookie: a=1\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
    );
    const [head] = await once(overHttp2(service, {}).resume(), "response");
    expect(head).toMatchObject({ ":status": 502 });
    expect(head).not.toHaveProperty("set-cookie");
    expect(head).not.toHaveProperty("content-encoding");
    await isAlive(service);
  });

  test("over HTTP/1.1: a status text that cannot be sent is left out", async () => {
    const service = await inFrontOf("HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok");
    expect(await sendRaw(service, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 200 [ -~]*\r\n/,
    );
    await isAlive(service);
  });
});

test.each([
  ["a length", "Content-Length: 100\r\n\r\nhalf"],
  ["chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
])("a truncated reply with %s does not look complete over HTTP/2", async (_, rest) => {
  const service = await inFrontOf(`HTTP/1.1 200 OK\r\n${rest}`);
  const stream = overHttp2(service, {}).resume();
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});

test("the requests of one address that are passed on are limited by its connections", async () => {
  const waiting: ServerResponse[] = [];
  const server = createHttp((request, response) => {
    if (request.url === "/file") waiting.push(response);
    else response.end();
  });
  const service = await inFront(await listening(server), { MOORING_MAX_CONNECTIONS_PER_PEER: "3" });
  const session = connectHttp2(`http://127.0.0.1:${service.port}`);
  onTestFinished(() => session.destroy());
  const statusOf = async (): Promise<unknown> => {
    const stream = session.request({ ":path": "/file" }).on("error", () => undefined);
    const [head] = (await once(stream.resume(), "response")) as [Record<string, unknown>];
    return head[":status"];
  };
  const passed = [statusOf(), statusOf(), statusOf()];
  expect(await statusOf()).toBe(503);
  await expect.poll(() => waiting.length).toBe(3);
  waiting[0]?.end();
  expect(await Promise.race(passed)).toBe(200);
  passed.push(statusOf());
  await expect.poll(() => waiting.length).toBe(4);
  for (const response of waiting) response.end();
  expect(await Promise.all(passed)).toEqual([200, 200, 200, 200]);
});

test("HEAD over HTTP/2 without an end keeps no stream", async () => {
  const service = await inFrontOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "stays");
  const session = connectHttp2(`http://127.0.0.1:${service.port}`);
  onTestFinished(() => session.destroy());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const stream = session.request({ ":method": "HEAD", ":path": "/" }, { endStream: false });
  const closed = once(stream, "close");
  stream.resume().write("half of it");
  await once(stream, "response");
  vi.advanceTimersByTime(DISCARDING);
  await closed;
  expect(stream.rstCode).toBe(0);
});

test("reads of the list of users are passed on, of any length", async () => {
  const list = Buffer.alloc(3 * 2 ** 20, "x");
  const server = createHttp((request: IncomingMessage, response) => {
    request.resume();
    response.end(request.url?.startsWith("/api/admin/user/list") ? list : "{}");
  });
  const service = await inFront(await listening(server));
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/user/list`, {
    headers: { authorization: "somebody" },
  });
  expect((await reply.arrayBuffer()).byteLength).toBe(list.length);
});

describe("in front of a site", () => {
  const front = startedForAll(startFront);

  const ownTitle = async (): Promise<string> => {
    const settings = await front.call("GET", "/api/public/settings");
    return settings.data.site_title;
  };

  test.each([
    ["with a host", (path: string) => `http://a${path}`],
    ["is encoded", (path: string) => path.replace("/api", "/%61pi").replace("save", "s%61ve")],
  ])("a change with a target %s is detected", async (what, form) => {
    const body = JSON.stringify([{ key: "site_title", value: what }]);
    const reply = await sendRaw(
      front.service,
      `POST ${form("/api/admin/setting/save")} HTTP/1.1\r\nHost: a\r\nAuthorization: ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(reply).toContain('"code":200');
    expect(await ownTitle()).toBe(what);
  });
});

test("an incomplete request of an unauthenticated client delays no change", async () => {
  const site = await startStandIn();
  onTestFinished(() => site.stop());
  // Reads a request completely before it replies, like servers in Go.
  const upstream = createHttp(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const { authorization = "" } = request.headers;
    const { method = "GET", url = "/" } = request;
    const reply = await fetch(site.url + url, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(method === "GET" ? {} : { body }),
    });
    response.setHeader("content-type", "application/json").end(await reply.text());
  });
  const service = await inFront(await listening(upstream), {
    MOORING_UPSTREAM_TOKEN: site.token(),
  });
  const save = (value: string) =>
    fetch(`http://127.0.0.1:${service.port}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: TOKEN, "content-type": "application/json" },
      body: JSON.stringify([{ key: "site_title", value }]),
    });
  await expect.poll(async () => (await save("One")).status && site.value("site_title")).toBe("One");
  for (const right of ["", "Authorization: wrong\r\n"]) {
    const socket = connect(service.port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(
      `POST /api/admin/setting/nothing HTTP/1.1\r\nHost: a\r\n${right}Content-Length: 100\r\n\r\nhalf`,
    );
  }
  // Both have arrived before this is answered.
  await isAlive(service);
  await save("Two");
  await expect.poll(() => site.value("site_title")).toBe("Two");
});
