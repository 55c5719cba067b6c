import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2 } from "node:http2";
import { connect, createServer as createTcp, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listening, pipeTo, soon } from "./piped.ts";

/** Above the bound from which a reply bypasses the parser, and no multiple of a buffer size. */
const SIZE = 4_321_987;
const content = randomBytes(SIZE);
const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const HASH = hashOf(content);

/** Closed connections of the upstream, and the bytes that it wrote on the last `/stalled`. */
const closed: Socket[] = [];
let connections = 0;
let stalled: Socket | undefined;
/** Number of contents in the reply of `/stalled`: far more than the kernel's buffers of two connections. */
const STALLED = 60;
/** Bytes of one write of that reply. */
const PIECE = 65_536;
/** Number of equal readings after which a reply has stopped. */
const EQUAL = 10;

const upstream = createServer((request, response) => {
  const { url, socket } = request;
  const head = { "content-length": SIZE, etag: '"long"' };
  if (url === "/cut") {
    response.writeHead(200, head);
    response.write(content.subarray(0, 3_000_000), () => socket.destroy());
  } else if (url === "/more") {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
    socket.write(content);
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  } else if (url === "/slow") {
    response.writeHead(206, head);
    let at = 0;
    const next = (): void => {
      if (at >= SIZE) return void response.end();
      const from = at;
      at += 700_001;
      response.write(content.subarray(from, at), () => setImmediate(next));
    };
    next();
  } else if (url === "/chunked") {
    response.write(content);
    response.end();
  } else if (url === "/small") response.end("small");
  else if (url === "/stalled") {
    stalled = socket;
    response.writeHead(200, { ...head, "content-length": STALLED * SIZE });
    // Small pieces: a write counts as sent once it is complete, and a long one may never be.
    const next = (at: number): void => {
      if (at >= STALLED * SIZE) return void response.end();
      const from = at % SIZE;
      const piece = content.subarray(from, from + PIECE);
      response.write(piece, (error) => {
        if (!error) next(at + piece.length);
      });
    };
    next(0);
  } else {
    response.writeHead(200, head);
    response.end(request.method === "HEAD" ? undefined : content);
  }
});
upstream.on("connection", (socket) => {
  connections += 1;
  socket.once("close", () => closed.push(socket));
});

let port1 = 0;
let port2 = 0;
let close = (): void => undefined;

beforeAll(async () => {
  const pipe = pipeTo(await listening(upstream));
  const handler = (request: unknown, response: unknown): void =>
    void pipe.pass(request as IncomingMessage, response as ServerResponse);
  const [http2, http1] = [createHttp2(handler), createServer(handler)];
  port2 = await listening(http2 as unknown as Server);
  port1 = await listening(http1);
  close = () => {
    pipe.close();
    http1.closeAllConnections();
    http1.close();
    http2.close();
    upstream.closeAllConnections();
    upstream.close();
  };
});

afterAll(() => close());

interface Received {
  readonly status: number | undefined;
  readonly body: Buffer;
  readonly isWhole: boolean;
}

async function got(path: string, pace = (): Promise<void> | void => undefined): Promise<Received> {
  // The server may close a kept connection just as the next request arrives.
  const request = get({ port: port1, host: "127.0.0.1", path, agent: false });
  const [reply] = (await once(request, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  try {
    for await (const part of reply as AsyncIterable<Buffer>) {
      parts.push(part);
      await pace();
    }
  } catch {
    // A truncated reply is detected by `complete`.
  }
  return { status: reply.statusCode, body: Buffer.concat(parts), isWhole: reply.complete };
}

describe("a long reply of the upstream", () => {
  test.each(["/long", "/slow", "/chunked"])("is passed on byte for byte: %s", async (path) => {
    const { body, isWhole } = await got(path);
    expect(isWhole).toBe(true);
    expect(hashOf(body)).toBe(HASH);
  });

  test("is complete with more replies than are read at once, at any pace", async () => {
    let turn = 0;
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        got(at % 3 === 0 ? "/slow" : "/long", () =>
          (turn++ + at) % 40 === 0 ? sleep(1) : undefined,
        ),
      ),
    );
    for (const { body, isWhole } of replies) {
      expect(isWhole).toBe(true);
      expect(hashOf(body)).toBe(HASH);
    }
  });

  test("is complete when others are aborted, stall or break off again and again", async () => {
    const port = port1;
    for (let round = 0; round < 6; round += 1) {
      const stalls = Array.from({ length: 2 }, () => {
        const client = connect(port, "127.0.0.1").on("error", () => undefined);
        client.write("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
        return client.pause();
      });
      const session = connectHttp2(`http://127.0.0.1:${port2}`).on("error", () => undefined);
      const left = session.request({ ":path": "/long" }).on("error", () => undefined);
      left.once("data", () => left.close());
      const [, ...whole] = await Promise.all([
        got("/cut"),
        got("/long"),
        got("/slow"),
        got("/long"),
      ]);
      for (const { body } of whole) expect(hashOf(body)).toBe(HASH);
      for (const client of stalls) client.destroy();
      session.destroy();
    }
  });

  test("is passed on over HTTP/2, beside others on the same connection", async () => {
    const session = connectHttp2(`http://127.0.0.1:${port2}`);
    const bodies = await Promise.all(
      ["/long", "/slow", "/small", "/long"].map(async (path) => {
        const parts: Buffer[] = [];
        const stream = session.request({ ":path": path });
        for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
        return hashOf(Buffer.concat(parts));
      }),
    );
    session.close();
    const small = hashOf(Buffer.from("small"));
    expect(bodies).toEqual([HASH, HASH, small, HASH]);
  });

  test("that is truncated does not look complete, over HTTP/1.1 and HTTP/2", async () => {
    const { isWhole, body } = await got("/cut");
    expect(isWhole).toBe(false);
    expect(content.subarray(0, body.length).equals(body)).toBe(true);
    const session = connectHttp2(`http://127.0.0.1:${port2}`);
    const stream = session.request({ ":path": "/cut" }).resume();
    await expect(once(stream, "end")).rejects.toThrow(/INTERNAL_ERROR/);
    session.close();
  });

  test("ends at its declared length; further bytes reach no other client", async () => {
    const { body, isWhole } = await got("/more");
    expect(isWhole).toBe(true);
    expect(hashOf(body)).toBe(HASH);
    for (let at = 0; at < 3; at += 1) expect(`${(await got("/small")).body}`).toBe("small");
  });

  test("that its client aborts is aborted at the upstream", async () => {
    const before = closed.length;
    const request = get({ port: port1, host: "127.0.0.1", path: "/stalled" });
    request.on("error", () => undefined);
    const [reply] = (await once(request, "response")) as [IncomingMessage];
    reply.on("error", () => undefined);
    await once(reply, "readable");
    request.destroy();
    await soon(() => expect(closed.slice(before)).toContain(stalled));
    expect(stalled?.bytesWritten).toBeLessThan(STALLED * SIZE);
  });

  test("that its client aborts over HTTP/2 is aborted at the upstream", async () => {
    const before = closed.length;
    const session = connectHttp2(`http://127.0.0.1:${port2}`);
    const stream = session.request({ ":path": "/stalled" });
    await once(stream, "data");
    stream.close();
    await soon(() => expect(closed.slice(before)).toContain(stalled));
    expect(stalled?.bytesWritten).toBeLessThan(STALLED * SIZE);
    session.close();
  });

  test("is read no faster than its client reads", async () => {
    const client = connect(port1, "127.0.0.1");
    client.write("GET /stalled HTTP/1.1\r\nHost: a\r\n\r\n");
    client.pause();
    const before = stalled;
    await soon(() => expect(stalled).not.toBe(before));
    // The reply stops long before its end.
    const sent: number[] = [];
    await soon(() => {
      sent.push((stalled?.bytesWritten ?? 0) - (stalled?.writableLength ?? 0));
      expect(sent.at(-1)).toBeGreaterThan(0);
      expect(new Set(sent.slice(-EQUAL)).size).toBe(1);
      expect(sent.length).toBeGreaterThanOrEqual(EQUAL);
    });
    expect(sent.at(-1)).toBeLessThan(STALLED * SIZE);
    client.resume();
    let size = 0;
    for await (const part of client as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > SIZE) break;
    }
    expect(size).toBeGreaterThan(SIZE);
  });

  test("to HEAD has no body, and keeps its connection like small replies", async () => {
    await got("/small");
    const before = connections;
    const client = connect(port1, "127.0.0.1");
    client.write("HEAD /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const parts: Buffer[] = [];
    for await (const part of client as AsyncIterable<Buffer>) parts.push(part);
    expect(`${Buffer.concat(parts)}`).toMatch(
      new RegExp(`content-length: ${SIZE}\\r\\n[^]*\\r\\n\\r\\n$`, "i"),
    );
    expect(`${(await got("/small")).body}`).toBe("small");
    expect(connections).toBe(before);
  });
});

test("a connection with unexpected bytes is not used again", async () => {
  let requests = 0;
  let idle: Socket | undefined;
  const server = createTcp((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => {
      requests += 1;
      idle = socket;
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
    });
  });
  const pipe = pipeTo(await listening(server));
  const front = createServer((request, response) => void pipe.pass(request, response));
  const at = await listening(front);
  for (let turn = 0; turn < 3; turn += 1) {
    const reply = await fetch(`http://127.0.0.1:${at}/`);
    expect(await reply.text()).toBe("good");
    const closing = once(idle as Socket, "close");
    idle?.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    await closing;
  }
  expect(requests).toBe(3);
  pipe.close();
  front.closeAllConnections();
  front.close();
  server.close();
});
