import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";

/** The first bytes of the HTTP/2 connection preface (RFC 9113, section 3.4). No HTTP/1.1 method starts so. */
const PREFACE = "PRI";
/** How long a connection may say nothing at all, in milliseconds. */
const FIRST_BYTE_TIMEOUT = 30_000;

/** Takes over a connection whose first bytes may already wait in its buffer. */
export type TakeConnection = (socket: Socket) => void;

/**
 * A TCP server that gives HTTP/2 connections to one taker and all others to another, by their first
 * bytes.
 */
export function createSharedServer(takers: {
  readonly http1: TakeConnection;
  readonly http2: TakeConnection;
}): Server {
  return createServer({ noDelay: true }, (socket) => {
    const onFailure = (): void => void socket.destroy();
    const onReadable = (): void => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      const start = chunk.toString("latin1", 0, PREFACE.length);
      socket.unshift(chunk);
      // "P" or "PR" may still become either.
      if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
      socket.off("readable", onReadable);
      socket.off("error", onFailure);
      socket.off("timeout", onFailure);
      socket.setTimeout(0);
      (start === PREFACE ? takers.http2 : takers.http1)(socket);
    };
    socket.setTimeout(FIRST_BYTE_TIMEOUT);
    socket.on("readable", onReadable);
    // A client that resets the connection before it said anything is nobody's failure.
    socket.on("error", onFailure);
    socket.on("timeout", onFailure);
  });
}

/** Hands a connection to an HTTP/1.1 server that listens nowhere itself. */
export function toHttp1(server: HttpServer): TakeConnection {
  return (socket) => {
    server.emit("connection", socket);
    // The listener for "readable" has paused the flow; the parser waits for "data".
    socket.resume();
  };
}
