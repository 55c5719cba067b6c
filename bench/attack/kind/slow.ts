// Clients that send slowly, or do not read.
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { END_HEADERS, END_STREAM, FRAME, fields, frame } from "../frame.ts";
import {
  type Attack,
  add,
  dial,
  openRaw,
  pause,
  request,
  type Tally,
  type Target,
  writeAll,
} from "../target.ts";

const SLOW = 600;

/** Text that a connection sends first, and the one that it then sends piece by piece, repeatedly. */
interface Trickle {
  readonly head?: string;
  readonly pieces: string | readonly string[];
}

/** Opens connections, and writes one piece of each text at intervals. */
function trickle(textOf: (index: number, target: Target) => Trickle): Attack {
  return async (target, signal) => {
    const tally: Tally = { connections: 0, closed: 0 };
    const sockets: (readonly [Socket, Trickle["pieces"]])[] = [];
    for (let index = 0; index < SLOW && !signal.aborted; index += 1) {
      const socket = await dial(target);
      socket.resume().once("close", () => {
        add(tally, "closed");
      });
      const { head, pieces } = textOf(index, target);
      if (head !== undefined) socket.write(head);
      sockets.push([socket, pieces]);
      add(tally, "connections");
    }
    for (let at = 0; !signal.aborted; at += 1) {
      for (const [socket, pieces] of sockets)
        if (!socket.destroyed) socket.write(pieces[at % pieces.length] ?? "");
      await pause(100, signal);
    }
    return tally;
  };
}

/** Headers sent byte by byte, and connections that send little or nothing. */
export const slowHeaders = trickle((index) => {
  if (index % 3 === 0) return { pieces: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" };
  const path = index % 3 === 1 ? "/ping" : "/api/public/settings";
  return {
    pieces: `GET ${path} HTTP/1.1\r\nHost: x\r\n${"X-Slow: very\r\n".repeat(1_000)}`,
  };
});

/** Bodies sent byte by byte, with and without their length. */
export const slowBodies = trickle((index, { token }) => {
  const authorization = token === undefined ? "" : `Authorization: ${token}\r\n`;
  const [length, piece] =
    index % 2 === 0
      ? ["Content-Length: 100000", "["]
      : ["Transfer-Encoding: chunked", "1\r\n[\r\n"];
  const head = `POST /api/admin/setting/save HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\n${length}\r\n\r\n`;
  return { head, pieces: [piece] };
});

const WATCHERS = 1_300;
/** Streams of one HTTP/2 connection. */
const PER_CONNECTION = 200;
const WATCH = "/mooring.v1.PublicService/WatchPublicSettings";

/** Watchers of the public settings over every transport that do not read. */
export const stalledWatchers: Attack = async (target, signal) => {
  const tally: Tally = { watchers: 0, closed: 0 };
  const closed = (count: number) => () => {
    add(tally, "closed", count);
  };
  for (let opened = 0; opened < WATCHERS && !signal.aborted; ) {
    // One connection in eight is HTTP/1.1, as from a browser.
    const http1 = opened % (PER_CONNECTION + 60) >= PER_CONNECTION;
    const count = http1 ? 60 : PER_CONNECTION;
    if (http1)
      for (let each = 0; each < count; each += 1) {
        const socket = await dial(target);
        socket.pause().once("close", closed(1));
        socket.write("GET /api/public/settings/watch HTTP/1.1\r\nHost: x\r\n\r\n");
      }
    else (await openWatchers(target, count, signal)).once("close", closed(count));
    opened += count;
    tally["watchers"] = opened;
  }
  await pause(120_000, signal);
  return tally;
};

async function openWatchers(target: Target, count: number, signal: AbortSignal): Promise<Socket> {
  const socket = await openRaw(target);
  socket.pause();
  for (let index = 0; index < count; index += 1) {
    const stream = 1 + 2 * index;
    await writeAll(socket, watchRequest(stream, KINDS[index % KINDS.length] ?? "grpc"), signal);
  }
  return socket;
}

const KINDS = ["grpc", "connect", "rest"] as const;

function watchRequest(stream: number, kind: (typeof KINDS)[number]): Buffer {
  if (kind === "rest") {
    const block = fields(request("/api/public/settings/watch", {}, "GET"));
    return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, block);
  }
  const type = kind === "grpc" ? "application/grpc" : "application/connect+proto";
  return Buffer.concat([
    frame(
      FRAME.headers,
      END_HEADERS,
      stream,
      fields(request(WATCH, { "content-type": type, te: "trailers" })),
    ),
    frame(FRAME.data, END_STREAM, stream, Buffer.alloc(5)),
  ]);
}

/** Half a megabyte of reflection requests on streams whose answers are not read. */
export const stalledReflection: Attack = async (target, signal) => {
  const tally: Tally = { streams: 0, questions: 0 };
  // With a closed flow-control window the server must not send data.
  const session = connectHttp2(`http://127.0.0.1:${target.port}`, {
    settings: { initialWindowSize: 0 },
  });
  session.on("error", () => undefined);
  const name = "mooring.v1.SettingService";
  // ServerReflectionRequest.file_containing_symbol, in an envelope of gRPC.
  const question = Buffer.concat([Buffer.of(0x22, name.length), Buffer.from(name)]);
  const message = Buffer.concat([Buffer.of(0, 0, 0, 0, question.length), question]);
  const asking = async (): Promise<void> => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => undefined);
    add(tally, "streams");
    for (let sent = 0; sent < 513_000 && !signal.aborted && !stream.destroyed; ) {
      sent += message.length;
      add(tally, "questions");
      if (!(await writeAll(stream, message, signal))) return;
    }
  };
  await Promise.all(Array.from({ length: 8 }, asking));
  await pause(60_000, signal);
  return tally;
};
