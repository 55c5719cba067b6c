import type { LookupFunction, Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createAria2Client } from "../../src/downloaders/aria2.ts";
import type { ClientOptions } from "../../src/downloaders/connection.ts";
import { createQbittorrentClient } from "../../src/downloaders/qbittorrent.ts";
import { type Loopback, serveHttp, serveTcp } from "../loopback.ts";
import { expectFailure, failureOf } from "./failure.ts";

// Failures of a peer that each of the clients' three kinds of exchange must handle.

const SECRET = "hunter2hunter2";
const WAYS = ["aria2 http", "aria2 ws", "qBittorrent"] as const;
type Way = (typeof WAYS)[number];

function ask(way: Way, authority: string, options: ClientOptions = {}, signal?: AbortSignal) {
  const given = signal === undefined ? {} : { signal };
  const address = `me:${SECRET}@${authority}/path?key=${SECRET}`;
  if (way === "qBittorrent") {
    return createQbittorrentClient(options).checkLogin({ url: `http://${address}`, ...given });
  }
  const scheme = way === "aria2 ws" ? "ws" : "http";
  const uri = `${scheme}://${address}`;
  return createAria2Client(options).getVersion({ uri, secret: SECRET, ...given });
}

/** Expects that a call of a peer fails with this code and step, without the secret. */
async function expectFailing(way: Way, { port }: Loopback, code: Code, step: RegExp) {
  const error = await failureOf(ask(way, `127.0.0.1:${port}`));
  expectFailure(error, code, step, [SECRET]);
}

/** Stops the clock of the clients during a test. @returns a function that lets their time pass. */
function holdTime(): () => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return () => void vi.advanceTimersByTime(5_000);
}

/** A peer that writes something after a request. */
function answering(write: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    socket.once("data", () => write(socket));
  };
}

const HEAD = "HTTP/1.1 200 OK\r\n";

describe.for(WAYS)("%s", (way) => {
  it.for([
    ["never answers", () => undefined],
    ["drips a status line", (socket: Socket) => drip(socket, "HTTP/1.1 200 OKOKOK")],
    ["drips headers", (socket: Socket) => drip(socket, `${HEAD}x-header: `)],
  ] as const)("times out: the peer %s", async ([, write]) => {
    const passTime = holdTime();
    const peer = await serveTcp(
      answering((socket) => {
        write(socket);
        passTime();
      }),
    );
    const pattern = /: time-out: 5 s expired while waiting for the reply\./;
    await expectFailing(way, peer, Code.DeadlineExceeded, pattern);
    await peer.idle();
  });

  it.for([
    ["garbage", "\0\x01garbage\r\n\r\n", /: reply failed: not understood \(HPE_\w+\)/],
    ["a secret as garbage", `${SECRET}\r\n\r\n`, /: reply failed: not understood \(HPE_\w+\)/],
    ["a TLS record", "\x15\x03\x01\0\x02\x02\x28", /: reply failed: .*https or wss/],
    ["too many headers", `${HEAD}${`x: ${SECRET}\r\n`.repeat(2_000)}\r\n`, /headers are too long/],
    ["a status only", "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", /: HTTP status 500\./],
    ["no status", "HTTP/1.1 999999 \r\n\r\n", /: reply failed: not understood/],
    [
      "an upgrade to nothing",
      "HTTP/1.1 101 Go\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
      /reply/,
    ],
  ] as const)("reports %s", async ([, reply, pattern]) => {
    const peer = await serveTcp(answering((socket) => socket.write(reply)));
    await expectFailing(way, peer, Code.Unavailable, pattern);
    await peer.idle();
  });

  it("reports a connection closed without a reply", async () => {
    const peer = await serveTcp(answering((socket) => socket.end()));
    const advice =
      /: reply failed: the connection was closed; if the program uses TLS, write its address with (http|ws)s:/;
    await expectFailing(way, peer, Code.Unavailable, advice);
  });

  it("reports the target of a redirect without its query, and does not follow it", async () => {
    const paths: string[] = [];
    const peer = await serveHttp((request, response) => {
      paths.push(request.url ?? "");
      response.writeHead(302, { location: `https://you:${SECRET}@other.example/new/?k=${SECRET}` });
      response.end();
    });
    const pattern =
      /: HTTP status 302: redirected to https:\/\/other.example\/new\/\. .*not followed/;
    await expectFailing(way, peer, Code.Unavailable, pattern);
    expect(paths).toHaveLength(1);
  });

  it.for([`/${SECRET}/`, `/%68${SECRET.slice(1)}/`, "http://", ""])(
    "does not repeat the target of an invalid redirect: %s",
    async (location) => {
      const head = `HTTP/1.1 307 Go\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`;
      const peer = await serveTcp(answering((socket) => socket.write(head)));
      const error = await failureOf(ask(way, `127.0.0.1:${peer.port}`));
      const encoded = SECRET.slice(1);
      expectFailure(error, Code.Unavailable, /: HTTP status 307: redirected to /, [
        SECRET,
        encoded,
      ]);
    },
  );

  it("reports a failed DNS look-up of an unknown host", async () => {
    const error = await failureOf(ask(way, "nowhere.invalid:80", { timeoutMs: 20_000 }));
    expectFailure(error, Code.Unavailable, /: DNS lookup failed: .*(ENOTFOUND|EAI_AGAIN)/, [
      SECRET,
    ]);
  });

  it("reports a time-out of the DNS look-up", async () => {
    const lookup: LookupFunction = () => {};
    const options = { lookup, timeoutMs: 100 };
    const error = await failureOf(ask(way, "slow.example:80", options));
    expectFailure(error, Code.DeadlineExceeded, /while looking up the host name/, [SECRET]);
  });

  it("is aborted by the caller's signal", async () => {
    const caller = new AbortController();
    const peer = await serveTcp(() => caller.abort());
    const error = await failureOf(ask(way, `127.0.0.1:${peer.port}`, {}, caller.signal));
    expectFailure(error, Code.Canceled, /: cancelled while /, [SECRET]);
    await peer.idle();
  });

  it("is not started with an aborted signal", async () => {
    const peer = await serveTcp(() => {});
    const signal = AbortSignal.abort();
    const error = await failureOf(ask(way, `127.0.0.1:${peer.port}`, {}, signal));
    expectFailure(error, Code.Canceled, /: cancelled while /, [SECRET]);
    await peer.idle();
  });
});

describe.for(["aria2 http", "qBittorrent"] as const)("%s, reading a body", (way) => {
  it("ends after 64 KiB of an endless body", async () => {
    const peer = await serveTcp(
      answering((socket) => {
        socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
        flood(socket, `8\r\n${SECRET.slice(0, 8)}\r\n`.repeat(100));
      }),
    );
    await expectFailing(way, peer, Code.Unavailable, /: the reply is longer than 65536 bytes/);
    await peer.idle();
  });

  it("times out on a slow body", async () => {
    const passTime = holdTime();
    const peer = await serveTcp(
      answering((socket) => {
        socket.write(`${HEAD}content-length: 1000\r\n\r\n`);
        drip(socket, "1");
        const timer = setInterval(passTime, 100);
        socket.once("close", () => clearInterval(timer));
      }),
    );
    await expectFailing(way, peer, Code.DeadlineExceeded, /: time-out: .*the reply/);
    await peer.idle();
  });

  it("refuses a truncated body", async () => {
    const reply = `${HEAD}content-length: 1000\r\n\r\nv1.2`;
    const peer = await serveTcp(answering((socket) => socket.end(reply)));
    await expectFailing(way, peer, Code.Unavailable, /: reply failed: the connection was closed/);
  });
});

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text.slice(0, 1)), 20);
  socket.once("close", () => clearInterval(timer));
  socket.write(text);
}

function flood(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text)) {}
  };
  socket.on("drain", more);
  more();
}
