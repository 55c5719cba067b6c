import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ConnectionHandler, openFront } from "../../src/transport/front.ts";
import { startedForAll } from "../started.ts";
import { dial as dialRaw } from "./raw/line.ts";
import { startService } from "./service.ts";
import { http1Sender } from "./transport/http.ts";

/** A connection whose received data is text. */
async function dial(port: number) {
  const { socket, until, closed } = await dialRaw(port);
  return {
    socket,
    until: async (text: string) => String(await until((bytes) => bytes.includes(text))),
    closed: closed.then(String),
  };
}

describe("one port for all protocols", () => {
  const service = startedForAll(startService);

  test.each(["P", "PR"])("a client that sends only %s delays no other", async (text) => {
    const { socket } = await dial(service.port);
    socket.write(text);
    for (let count = 0; count < 3; count += 1)
      expect((await http1Sender(service.port)("/ping")).text).toBe("pong");
  });

  test("a request that is sent byte by byte is read", async () => {
    const { socket, until } = await dial(service.port);
    for (const letter of "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n") {
      socket.write(letter);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await until("pong")).toMatch(/^HTTP\/1\.1 200/);
  });

  test("a method that begins like the preface of HTTP/2 is HTTP/1.1", async () => {
    const { socket, until } = await dial(service.port);
    socket.write("PR");
    socket.write("OPFIND /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await until("}")).toMatch(/^HTTP\/1\.1 405/);
  });

  test("several requests on one connection are answered in order", async () => {
    const { socket, until } = await dial(service.port);
    const ping = "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n";
    const last = "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    socket.write(ping + ping + last);
    const received = await until("nothing is served at /nowhere");
    expect(received.match(/pong/g)).toHaveLength(2);
  });
});

describe("the port before the program is ready", () => {
  const open = async (maxWaitMs?: number) => {
    const { front, address } = await openFront(
      { host: "127.0.0.1", port: 0 },
      { variable: "MOORING_LISTEN", ...(maxWaitMs !== undefined && { maxWaitMs }) },
    );
    onTestFinished(() => void front.server.close());
    if (!("port" in address)) throw new Error("no port");
    return { front, port: address.port };
  };

  test("answers /ping itself, also in pieces, and stays open", async () => {
    const { port } = await open();
    for (const pieces of [
      ["GET /ping HTTP/1.1\r\n\r\n"],
      ["GET /p", "ing HTTP/1.0\r\n\r\n"],
      ["G", "ET /ping HTTP/1.1\r\nHost: x\r\n\r\n"],
    ]) {
      const { socket, closed } = await dial(port);
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await closed).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\npong$/);
    }
  });

  test("answers livez with 200 and readyz with 503", async () => {
    const { port } = await open();
    const get = http1Sender(port);
    expect(await get("/livez")).toMatchObject({ status: 200, text: "ok\n" });
    const { status, text } = await get("/readyz");
    expect([status, text]).toEqual([503, expect.stringContaining("the service is starting")]);
  });

  test("answers connections that wait too long: 503 over HTTP/1.1, GOAWAY over HTTP/2", async () => {
    const { front, port } = await open(1);
    const one = await http1Sender(port)("/api/public/settings");
    expect([one.status, one.headers["retry-after"]]).toEqual([503, "1"]);
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    session.on("error", () => {});
    const [code, lastStream] = await once(session, "goaway");
    expect([code, lastStream]).toEqual([0, 0]);
    // An answered connection is not handed over.
    let taken = 0;
    const take = (): void => {
      taken += 1;
    };
    front.open({ http1: take, http2: take });
    expect(taken).toBe(0);
  });

  test("closes waiting connections when the start fails", async () => {
    const { front, port } = await open();
    const { socket, closed } = await dial(port);
    socket.write("GET /api/public/settings HTTP/1.1\r\nHost: x\r\n\r\n");
    front.close();
    expect(await closed).toBe("");
    expect(front.server.listening).toBe(false);
  });

  test("queues other connections, and hands them over with all received bytes", async () => {
    const { front, port } = await open();
    const one = await dial(port);
    one.socket.write("GET /api/public/settings HTTP/1.1\r\n");
    one.socket.write("Host: x\r\n\r\n");
    const two = await dial(port);
    two.socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // The port is alive in between.
    expect((await http1Sender(port)("/ping")).text).toBe("pong");
    const answer =
      (name: string): ConnectionHandler =>
      (socket) => {
        socket.once("data", (bytes) => socket.end(`${name} took ${bytes.toString().slice(0, 10)}`));
        socket.resume();
      };
    front.open({ http1: answer("http1"), http2: answer("http2") });
    expect(await one.closed).toBe("http1 took GET /api/p");
    expect(await two.closed).toBe("http2 took PRI * HTTP");
  });
});
