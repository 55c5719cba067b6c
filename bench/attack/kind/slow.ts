// Clients that send slowly, or do not read.
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { framed } from "../../call.ts";
import { END_HEADERS, END_STREAM, FRAME, fields, frame } from "../../frame.ts";
import {
  type Attack,
  add,
  dial,
  GRPC,
  openRaw,
  pause,
  request,
  type Tally,
  WATCH,
  writeAll,
} from "../target.ts";

const SLOW = 600;

/** Connections whose headers come byte by byte, or that send little or nothing. */
export const slowHeaders: Attack = async (target, signal) => {
  const tally: Tally = { connections: 0, closed: 0 };
  const texts = [
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ...["/ping", "/api/public/settings"].map(
      (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${"X-Slow: very\r\n".repeat(1_000)}`,
    ),
  ];
  const sockets: (readonly [Socket, string])[] = [];
  for (let index = 0; index < SLOW && !signal.aborted; index += 1) {
    const socket = await dial(target);
    socket.resume().once("close", () => add(tally, "closed"));
    sockets.push([socket, texts[index % texts.length] ?? ""]);
    add(tally, "connections");
  }
  for (let at = 0; !signal.aborted; at += 1) {
    for (const [socket, text] of sockets)
      if (!socket.destroyed) socket.write(text[at % text.length] ?? "");
    await pause(100, signal);
  }
  return tally;
};

/** Streams of an HTTP/2 connection, and the connections over HTTP/1.1 beside it, as of browsers. */
const STREAMS = 200;
const BROWSERS = 60;
const REST_WATCH = "/api/public/settings/watch";

/** 1,300 watchers of the public settings over every transport that do not read. */
export const stalledWatchers: Attack = async (target, signal) => {
  const tally: Tally = { watchers: 0, closed: 0 };
  for (let group = 0; group < 5 && !signal.aborted; group += 1) {
    const socket = await openRaw(target);
    socket.pause().once("close", () => add(tally, "closed", STREAMS));
    for (let index = 0; index < STREAMS; index += 1)
      await writeAll(socket, watchRequest(1 + 2 * index, index % 3), signal);
    for (let browser = 0; browser < BROWSERS; browser += 1) {
      const http1 = await dial(target);
      http1.pause().once("close", () => add(tally, "closed"));
      http1.write(`GET ${REST_WATCH} HTTP/1.1\r\nHost: x\r\n\r\n`);
    }
    add(tally, "watchers", STREAMS + BROWSERS);
  }
  await pause(120_000, signal);
  return tally;
};

/** @param kind 0: REST, 1: Connect, 2: gRPC. */
function watchRequest(stream: number, kind: number): Buffer {
  if (kind === 0) {
    const block = fields(request(REST_WATCH, {}, "GET"));
    return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, block);
  }
  const more = kind === 1 ? { "content-type": "application/connect+proto" } : GRPC;
  return Buffer.concat([
    frame(FRAME.headers, END_HEADERS, stream, fields(request(WATCH, more))),
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
  // ServerReflectionRequest.file_containing_symbol.
  const message = framed(Buffer.concat([Buffer.of(0x22, name.length), Buffer.from(name)]));
  const asking = async (): Promise<void> => {
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const stream = session.request({ ":method": "POST", ":path": path, ...GRPC });
    stream.on("error", () => undefined);
    add(tally, "streams");
    for (let sent = 0; sent < 513_000; sent += message.length) {
      if (!(await writeAll(stream, message, signal))) return;
      add(tally, "questions");
    }
  };
  await Promise.all(Array.from({ length: 8 }, asking));
  await pause(60_000, signal);
  return tally;
};
