import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { type MooringProcess, startedMooring } from "../../process/mooring.ts";
import { listening } from "../../wire/upstream.ts";

const HOST = ["Host", "a"];
const SAVE = "/api/admin/setting/save";
const JSON_CALL = { "content-type": "application/json" };
const JSON_BODY = ["Content-Type", "application/json"];

async function start(env: Readonly<Record<string, string>> = {}): Promise<MooringProcess> {
  return startedMooring({
    env: { MOORING_WRONG_TOKENS: "0", MOORING_HTTP_STATUS: "code", ...env },
  });
}

/** A request with a large body: its path, and its head as names and values in turn. */
type Large = readonly [path: string, headers: readonly string[]];

/**
 * Replies to a client that sends large bodies, each twenty times, with their counts; client and
 * service have a process each.
 */
async function repliesTo(mooring: MooringProcess, ...requests: readonly Large[]) {
  // In one process the service would read all before it answers.
  const program = join(import.meta.dirname, "large-sender.ts");
  const args = [program, String(mooring.port()), JSON.stringify(requests)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return (JSON.parse(stdout) as unknown[][]).map((replies) => {
    const counts = Object.entries(Object.groupBy(replies, String));
    return Object.fromEntries(counts.map(([reply, of = []]) => [reply, of.length]));
  });
}

/** A server that answers any request at its begin, and reads no more of it. */
function startEarlyServer(reply: string): Promise<string> {
  return listening(
    createServer((socket) => {
      socket.once("data", () => void socket.pause().write(reply));
    }),
  );
}

function openHttp2(mooring: MooringProcess): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${mooring.port()}`);
  onTestFinished(() => session.destroy());
  return session;
}

/**
 * Sends a request over HTTP/2 without its end, and nothing after the reply.
 *
 * @returns the status, and the code with which the stream was closed.
 */
async function stall(session: ClientHttp2Session, head: OutgoingHttpHeaders, start = "") {
  const stream = session.request(head, { endStream: false }).resume();
  if (start !== "") stream.write(start);
  const closed = once(stream, "close");
  const [reply] = (await once(stream, "response")) as [IncomingHttpHeaders];
  await closed;
  return [reply[":status"], stream.rstCode];
}

describe.each(["close", "keep-alive"])(
  "a refusal reaches a client that is sending a large body (Connection: %s)",
  (connection) => {
    const end = ["Connection", connection];

    test("for a wrong token, an unknown path, two hosts, a read-only path, and an unsupported type", async () => {
      const replies = await repliesTo(
        await start(),
        [SAVE, [...HOST, ...JSON_BODY, "Authorization", "wrong", ...end]],
        ["/nowhere", [...HOST, ...end]],
        [SAVE, [...HOST, ...HOST, ...JSON_BODY, ...end]],
        ["/api/public/settings/watch", [...HOST, ...end]],
        ["/mooring.v1.PublicService/Ping", [...HOST, ...end]],
      );
      expect(replies).toEqual([{ 401: 20 }, { 404: 20 }, { 400: 20 }, { 405: 20 }, { 415: 20 }]);
    });

    test("in front of an unreachable server: for that, and two hosts", async () => {
      const mooring = await start({ MOORING_UPSTREAM: "http://127.0.0.1:1" });
      const replies = await repliesTo(
        mooring,
        ["/dav/file", [...HOST, ...end]],
        ["/dav/file", [...HOST, ...HOST, ...end]],
      );
      expect(replies).toEqual([{ 502: 20 }, { 400: 20 }]);
    });

    test.each([
      ["keeps its connection", "Content-Length: 0\r\n\r\n"],
      ["closes it", "Connection: close\r\nContent-Length: 0\r\n\r\n"],
    ])("in front of a server that refuses early and %s", async (_, rest) => {
      const url = await startEarlyServer(`HTTP/1.1 413 Content Too Large\r\n${rest}`);
      const mooring = await start({ MOORING_UPSTREAM: url });
      expect(await repliesTo(mooring, ["/dav/file", [...HOST, ...end]])).toEqual([{ 413: 20 }]);
    });
  },
);

test.each([
  ["an unknown path", {}, 404],
  ["an unreachable upstream", { MOORING_UPSTREAM: "http://127.0.0.1:1" }, 502],
])("over HTTP/2 a refusal ends no connection: %s", async (_, env, status) => {
  const session = openHttp2(await start(env));
  for (let turn = 0; turn < 10; turn += 1) {
    const stream = session.request({ ":method": "POST", ":path": "/nowhere" });
    stream.resume().end(Buffer.alloc(5_000_000));
    const closed = once(stream, "close");
    const [head] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(head[":status"]).toBe(status);
    await closed;
  }
});

test("an upstream that refuses early keeps no incomplete request", async () => {
  let open = 0;
  const server = createHttp((request, response) => {
    response.writeHead(413).end();
    request.resume();
  });
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const mooring = await start({ MOORING_UPSTREAM: `http://127.0.0.1:${port}` });
  expect(await repliesTo(mooring, ["/dav/file", HOST])).toEqual([{ 413: 20 }]);
  // One may be kept that has received all of its request.
  await expect.poll(() => open).toBeLessThanOrEqual(1);
});

/** Sends half of a request, and nothing more after its reply: not even its end. */
async function fallSilent(mooring: MooringProcess, connection: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: mooring.port(), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.write(`POST /nowhere HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n`);
  socket.write("Content-Length: 1000\r\n\r\nhalf of it");
  return String(await once(socket, "data"));
}

test.each(["close", "keep-alive"])(
  "a client that stalls after a refusal keeps no connection (Connection: %s)",
  async (connection) => {
    const alone = await start();
    const front = await start({ MOORING_UPSTREAM: "http://127.0.0.1:1" });
    const early = await start({
      MOORING_UPSTREAM: await startEarlyServer("HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n"),
    });
    await Promise.all(
      [alone, front, early].map(async (mooring, at) => {
        const before = openFiles(mooring);
        expect(await fallSilent(mooring, connection)).toContain(`${[404, 502, 413][at]} `);
        expect(openFiles(mooring)).toBeGreaterThan(before);
        await expect.poll(() => openFiles(mooring)).toBe(before);
      }),
    );
  },
);

test("a client that stalls after a refusal over HTTP/2 keeps no stream", async () => {
  const early = (rest: string) =>
    startEarlyServer(`HTTP/1.1 413 Large\r\n${rest}Content-Length: 0\r\n\r\n`);
  const upstreams = [
    "",
    "http://127.0.0.1:1",
    await early(""),
    await early("Connection: close\r\n"),
  ];
  const left = upstreams.map(async (url) => {
    const session = openHttp2(await start(url === "" ? {} : { MOORING_UPSTREAM: url }));
    return stall(session, { ":method": "POST", ":path": "/nowhere" }, "half of it");
  });
  expect(await Promise.all(left)).toEqual([404, 502, 413, 413].map((status) => [status, 0]));
});

/** Requests that are answered before their end: method, path, other fields, status. */
const EARLY: readonly (readonly [string, string, Readonly<Record<string, string>>, number])[] = [
  ["POST", "/nowhere", { expect: "something" }, 417],
  ["GET", "/livez", {}, 200],
  ["HEAD", "/livez", {}, 200],
  ["GET", "/reference", {}, 200],
  ["GET", "/docs", {}, 302],
  ["OPTIONS", "/api/public/settings/watch", {}, 204],
  ["OPTIONS", "/livez", { origin: "http://a", "access-control-request-method": "GET" }, 204],
  ["HEAD", "/nowhere", {}, 404],
  ["PUT", "/mooring.v1.PublicService/Ping", {}, 405],
  ["POST", "/mooring.v1.SettingService/SaveSettings", JSON_CALL, 401],
];

const FRONT = { MOORING_UPSTREAM: "http://127.0.0.1:1" };

/** The path of Mooring's own page in front of a server. */
function inFront(path: string): string {
  return /^\/(?:api|mooring\.)/.test(path) ? path : `/@mooring${path}`;
}

test.each([
  ["alone", {}],
  ["in front of a server", FRONT],
])("a client that stalls after any other reply over HTTP/2 keeps no stream: %s", async (_, env) => {
  const session = openHttp2(await start(env));
  const left = EARLY.map(async ([method, path, fields]) => {
    const at = env === FRONT ? inFront(path) : path;
    return [method, path, ...(await stall(session, { ":method": method, ":path": at, ...fields }))];
  });
  const expected = EARLY.map(([method, path, , status]) => [method, path, status, 0]);
  expect(await Promise.all(left)).toEqual(expected);
});

test("a client that stalls after CONNECT keeps no stream either", async () => {
  const session = openHttp2(await start());
  expect(await stall(session, { ":method": "CONNECT", ":authority": "a:1" })).toEqual([405, 0]);
});

test("a client that stalls after any reply keeps no connection, in front of a server", async () => {
  const mooring = await start(FRONT);
  const left = EARLY.map(async ([method, path, fields]) => {
    const socket = connect({ host: "127.0.0.1", port: mooring.port(), allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined);
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${inFront(path)} HTTP/1.1\r\nHost: a\r\n${lines.join("")}`);
    socket.write("Content-Length: 1000\r\n\r\nhalf of it");
    const ended = once(socket, "close");
    const reply = String(await once(socket, "data"));
    socket.resume();
    await once(socket, "end");
    socket.destroy();
    await ended;
    return [method, path, Number(reply.split(" ", 2)[1])];
  });
  const expected = EARLY.map(([method, path, , status]) => [method, path, status]);
  expect(await Promise.all(left)).toEqual(expected);
});

test("a connection continues after a request whose body is not read", async () => {
  const socket = connect((await start(FRONT)).port(), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let replies = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    replies += text;
  });
  for (let turn = 1; turn <= 3; turn += 1) {
    socket.write("PUT /@mooring/nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nha");
    await expect.poll(() => replies.split("HTTP/1.1 404").length - 1).toBe(turn);
    socket.write("lf");
  }
});

function openFiles({ pid }: MooringProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
