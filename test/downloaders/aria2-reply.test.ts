import { createServer as createHttp, type IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createAria2Client } from "../../src/downloaders/aria2.ts";
import { serve, serveHttp, serveTcp } from "../loopback.ts";
import { expectFailure, failureOf } from "./failure.ts";

// Replies of aria2 and its requests over HTTP and WebSocket, for cases that a real aria2 does not
// produce.

const SECRET = "hunter2hunter2";
const client = createAria2Client();

/** An RPC server that answers every request with the same text. */
async function answering(scheme: "http" | "ws", reply: string | Buffer, status = 200) {
  const peer =
    scheme === "ws"
      ? await serveWebSocket((socket) => socket.on("message", () => socket.send(reply)))
      : await serveHttp((_, response) => response.writeHead(status).end(reply));
  return { ...peer, uri: `${scheme}://127.0.0.1:${peer.port}/jsonrpc` };
}

async function serveWebSocket(
  listener: (socket: WebSocket, request: IncomingMessage) => void,
): ReturnType<typeof serve> {
  const http = createHttp();
  const server = new WebSocketServer({ server: http });
  server.on("connection", (socket, request) => {
    socket.on("error", () => {});
    listener(socket, request);
  });
  return await serve(http);
}

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((one) => one.address === "::1"),
  );
}

/** Expects that a call fails with this code and step, without the secret. */
async function expectFailing(uri: string, code: Code, step: RegExp): Promise<void> {
  const error = await failureOf(client.getVersion({ uri, secret: SECRET }));
  expectFailure(error, code, step, [SECRET]);
}

const rpc = (members: object) => JSON.stringify({ jsonrpc: "2.0", id: "mooring", ...members });
const version = (value: unknown) => rpc({ result: { version: value, enabledFeatures: [] } });

describe.for(["http", "ws"] as const)("over %s", (scheme) => {
  it.for([
    ["text", "It works!", /: the reply is not JSON-RPC 2\.0\./],
    ["HTML", `<html>${SECRET}</html>`, /: the reply is not JSON-RPC/],
    ["nothing", "", /: the reply is not JSON-RPC/],
    ["an empty object", "{}", /: the reply is not JSON-RPC/],
    ["other JSON", JSON.stringify({ version: "1.36.0" }), /: the reply is not JSON-RPC/],
    [
      "JSON-RPC 1.0",
      '{"id":"mooring","result":{"version":"1.36.0"}}',
      /: the reply is not JSON-RPC/,
    ],
    ["a batch", `[${version("1.36.0")}]`, /: the reply is not JSON-RPC/],
    ["null", "null", /: the reply is not JSON-RPC/],
    ["deep JSON", "[".repeat(60_000), /: the reply is not JSON-RPC/],
    ["another request's reply", rpc({ id: "x", result: {} }), /: the reply is not JSON-RPC/],
    ["an unasked compression", gzipSync(version("1.36.0")), /: the reply is not JSON-RPC/],
    ["no result", rpc({}), /: the reply is not JSON-RPC/],
    ["a result of null", rpc({ result: null }), /: the JSON-RPC reply has no version\./],
    ["a version of another type", version(1.36), /: the JSON-RPC reply has no version\./],
    ["an endless version", version("1".repeat(65)), /: the JSON-RPC reply has no version\./],
    ["a version with markup", version("1<script>"), /: the JSON-RPC reply has no version\./],
    ["a version of two lines", version("1.36\n.0"), /: the JSON-RPC reply has no version\./],
    ["the secret as its version", version(SECRET), /: the JSON-RPC reply has no version\./],
    [
      "another JSON-RPC error",
      rpc({ error: { code: -32601, message: SECRET } }),
      /: JSON-RPC error -32601 instead of a version\./,
    ],
    [
      "an error without an id",
      rpc({ id: null, error: { code: -32700, message: "Parse error." } }),
      /: JSON-RPC error -32700 instead of a version\./,
    ],
    ["an odd error", rpc({ error: { code: SECRET, message: 7 } }), /: JSON-RPC error 0 /],
    ["more than 64 KiB", version("1".repeat(70_000)), /: .*reply is (longer than|too long)/],
  ] as const)("reports %s", async ([, reply, pattern]) => {
    const { uri, idle } = await answering(scheme, reply);
    await expectFailing(uri, Code.Unavailable, pattern);
    await idle();
  });

  it("reads a version and closes its connection", async () => {
    const { uri, idle } = await answering(scheme, version("1.37.0-dev+git~1"));
    const reply = await client.getVersion({ uri, secret: SECRET });
    expect(reply).toEqual({ version: "1.37.0-dev+git~1" });
    await idle();
  });
});

describe("over HTTP", () => {
  it.for([400, 403, 404, 500, 502])("reports the status %i", async (status) => {
    const { uri } = await answering("http", SECRET, status);
    const pattern = new RegExp(`^aria2 at ${uri}: HTTP status ${status}\\.`);
    await expectFailing(uri, Code.Unavailable, pattern);
  });

  it("sends the call, and the password outside the address", async () => {
    const seen: unknown[] = [];
    const peer = await serveHttp(async (request, response) => {
      const body = JSON.parse(String(await request.toArray()));
      const { authorization, host, connection } = request.headers;
      seen.push({
        method: request.method,
        url: request.url,
        authorization,
        host,
        connection,
        body,
      });
      response.end(version("1.36.0"));
    });
    const host = `127.0.0.1:${peer.port}`;
    await client.getVersion({ uri: `http://me:p%C3%BC@${host}/a/jsonrpc?k=v#x`, secret: SECRET });
    await client.getVersion({ uri: `http://${host}/jsonrpc`, secret: "" });
    const call = { jsonrpc: "2.0", id: "mooring", method: "aria2.getVersion" };
    expect(seen).toEqual([
      {
        method: "POST",
        url: "/a/jsonrpc?k=v",
        authorization: `Basic ${Buffer.from("me:pü").toString("base64")}`,
        host,
        connection: "close",
        body: { ...call, params: [`token:${SECRET}`] },
      },
      {
        method: "POST",
        url: "/jsonrpc",
        authorization: undefined,
        host,
        connection: "close",
        body: { ...call, params: [] },
      },
    ]);
  });

  it("reaches a server at an IPv6 address", async ({ skip }) => {
    skip(!hasIpv6(), "this machine has no ::1");
    const peer = await serveHttp((_, response) => response.end(version("1.36.0")), "::1");
    const uri = `http://[::1]:${peer.port}/jsonrpc`;
    expect(await client.getVersion({ uri, secret: "" })).toEqual({ version: "1.36.0" });
  });

  it("tries all addresses of a host name", async ({ skip }) => {
    skip(!hasIpv6(), "this machine has no ::1");
    const peer = await serveHttp((_, response) => response.end(version("1.36.0")), "::1");
    // Not 127.0.0.1, where a server of another test may have the same port.
    const lookup: LookupFunction = (_host, _options, callback) =>
      setImmediate(callback, null, [
        { address: "127.98.0.1", family: 4 },
        { address: "::1", family: 6 },
      ]);
    const uri = `http://two.example:${peer.port}/jsonrpc`;
    const reply = await createAria2Client({ lookup }).getVersion({ uri, secret: "" });
    expect(reply).toEqual({ version: "1.36.0" });
    await peer.stop();
    const error = await failureOf(
      createAria2Client({ lookup }).getVersion({ uri, secret: SECRET }),
    );
    expectFailure(error, Code.Unavailable, /: connect failed: connection refused/, [SECRET]);
  });
});

describe("over WebSocket", () => {
  it("skips notifications of downloads", async () => {
    const notification = JSON.stringify({ jsonrpc: "2.0", method: "aria2.onDownloadStart" });
    const peer = await serveWebSocket((socket) => {
      socket.send(notification);
      socket.on("message", () => {
        socket.send(notification);
        socket.send(version("1.36.0"));
      });
    });
    const uri = `ws://127.0.0.1:${peer.port}/jsonrpc`;
    expect(await client.getVersion({ uri, secret: SECRET })).toEqual({ version: "1.36.0" });
    await peer.idle();
  });

  it("reads at most 64 KiB of notifications", async () => {
    const notification = JSON.stringify({ jsonrpc: "2.0", method: "aria2.onDownloadStart" });
    const peer = await serveWebSocket((socket) => {
      const more = () => {
        // Its callback alone runs before the peer reads.
        if (socket.readyState === WebSocket.OPEN)
          socket.send(notification, () => setImmediate(more));
      };
      more();
    });
    const uri = `ws://127.0.0.1:${peer.port}/jsonrpc`;
    await expectFailing(uri, Code.Unavailable, /: the reply is longer than 65536 bytes/);
    await peer.idle();
  });

  it("reports a connection closed without an answer", async () => {
    const peer = await serveWebSocket((socket) => socket.close(1008, SECRET));
    const uri = `ws://127.0.0.1:${peer.port}/jsonrpc`;
    await expectFailing(uri, Code.Unavailable, /: reply failed: the connection was closed/);
  });

  it("times out on an open connection", async () => {
    const peer = await serveWebSocket(() => {});
    const uri = `ws://127.0.0.1:${peer.port}/jsonrpc`;
    const hasty = createAria2Client({ timeoutMs: 200 });
    const error = await failureOf(hasty.getVersion({ uri, secret: SECRET }));
    expectFailure(error, Code.DeadlineExceeded, /: time-out: .*waiting for the reply/, [SECRET]);
    await peer.idle();
  });

  it("refuses a handshake with a wrong key and an invalid frame", async () => {
    const upgrade = "HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: upgrade\r\n";
    const peer = await serveTcp((socket) => {
      socket.once("data", () => socket.write(`${upgrade}sec-websocket-accept: ${SECRET}\r\n\r\n`));
    });
    const uri = `ws://127.0.0.1:${peer.port}/jsonrpc`;
    await expectFailing(uri, Code.Unavailable, /: reply failed: not understood/);
    await peer.idle();
  });

  it("offers no compression and sends the password outside the address", async () => {
    const { promise: seen, resolve: see } = Promise.withResolvers<IncomingMessage>();
    const peer = await serveWebSocket((socket, request) => {
      see(request);
      socket.on("message", () => socket.send(version("1.36.0")));
    });
    const uri = `ws://me:p%C3%BC@127.0.0.1:${peer.port}/jsonrpc?k=v#x`;
    await client.getVersion({ uri, secret: SECRET });
    const { url, headers } = await seen;
    expect(url).toBe("/jsonrpc?k=v");
    expect(headers["sec-websocket-extensions"]).toBeUndefined();
    expect(headers.authorization).toBe(`Basic ${Buffer.from("me:pü").toString("base64")}`);
  });
});
