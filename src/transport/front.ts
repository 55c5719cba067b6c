import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { plainAddress } from "./address.ts";
import type { Address } from "./listen.ts";
import { type ListenOptions, listen } from "./listen.ts";
import { type Credentials, createTlsServer } from "./tls.ts";

/** The first bytes of the HTTP/2 connection preface (RFC 9113, section 3.4). No HTTP/1.1 method begins with them. */
const PREFACE = "PRI";
/** Time limit of the first byte of a connection, in milliseconds. */
const FIRST_BYTE_TIMEOUT = 30_000;
/** Time limit of a TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT = 10_000;
/** Maximum number of connections that wait for the start of the service. */
const MAX_WAITING = 1_000;
/** Maximum wait of a connection for the start of the service, in milliseconds. */
const MAX_WAIT = 10_000;

/** Takes over a connection whose first bytes are already buffered. */
export type ConnectionHandler = (socket: Socket) => void;

/** Connection handlers, by protocol. */
export interface ConnectionHandlers {
  readonly http1: ConnectionHandler;
  readonly http2: ConnectionHandler;
}

/** Listening port. It may listen before its handlers exist. */
export interface Front {
  readonly server: Server;
  /** Passes waiting and all later connections to the handlers. */
  open(handlers: ConnectionHandlers): void;
  /** Closes connections that have not sent a request yet. */
  closeSilent(): void;
  /** Stops listening and closes connections that have no handler yet. */
  close(): void;
  /** Sets the credentials of new connections. Undefined: the port does not use TLS. */
  readonly renew: ((credentials: Credentials) => void) | undefined;
}

/**
 * Creates a port: HTTP/2 connections go to one handler, all others to another. Until there are
 * handlers, it answers `/ping` (docs/rest-contract.md, section 4: answers before anything else is ready),
 * `/livez` and `/readyz` and holds other connections. A connection held too long is answered with 503 over HTTP/1.1
 * and with GOAWAY over HTTP/2. With credentials all of this happens within TLS.
 */
function createFront({ credentials, maxWaitMs = MAX_WAIT }: FrontOptions): Front {
  let handlers: ConnectionHandlers | undefined;
  /** Callbacks that inspect a waiting connection again. */
  const waiting = new Map<Socket, () => void>();
  const untaken = new Set<Socket>();
  const meet = (socket: Socket): void => {
    if (socket.destroyed) return;
    untaken.add(socket);
    const onFailure = (): void => {
      clearTimeout(timer);
      waiting.delete(socket);
      untaken.delete(socket);
      socket.destroy();
    };
    /**
     * Bytes received so far. They are put back only when a handler takes the connection: earlier,
     * the stream would emit them again immediately, in an endless loop.
     */
    let seen: Buffer = Buffer.alloc(0);
    let timer: NodeJS.Timeout | undefined;
    const hold = (): void => {
      waiting.set(socket, look);
      const reply = seen.toString("latin1").startsWith(PREFACE) ? GOAWAY : REPLY_UNAVAILABLE;
      timer = setTimeout(() => {
        waiting.delete(socket);
        socket.end(reply);
      }, maxWaitMs).unref();
    };
    const handOver = (take: ConnectionHandler): void => {
      untaken.delete(socket);
      clearTimeout(timer);
      socket.unshift(seen);
      socket.off("readable", onReadable);
      socket.off("error", onFailure);
      socket.off("timeout", onFailure);
      socket.off("close", onFailure);
      socket.setTimeout(0);
      take(socket);
    };
    const look = (): void => {
      const start = seen.toString("latin1", 0, LONGEST_EARLY);
      // "P" or "PR" may still become either.
      if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
      if (handlers !== undefined)
        handOver(start.startsWith(PREFACE) ? handlers.http2 : handlers.http1);
      else {
        const early = EARLY.find(([line]) => start.startsWith(line) || line.startsWith(start));
        if (early !== undefined && start.length < early[0].length) return;
        if (early !== undefined) socket.end(early[1]);
        else if (waiting.size < MAX_WAITING) hold();
        else socket.destroy();
      }
    };
    const onReadable = (): void => {
      // A waiting or answered connection is not read.
      if (waiting.has(socket) || socket.writableEnded) return;
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      seen = Buffer.concat([seen, chunk]);
      look();
    };
    socket.setTimeout(FIRST_BYTE_TIMEOUT);
    socket.on("readable", onReadable);
    // A reset by the client before its first byte is not logged.
    socket.on("error", onFailure);
    socket.on("timeout", onFailure);
    socket.on("close", onFailure);
  };
  const tls = credentials && createTlsServer(credentials, { handshakeMs: HANDSHAKE_TIMEOUT }, meet);
  const server = tls?.server ?? createServer({ noDelay: true }, meet);
  const closeSilent = (): void => {
    tls?.closeSilent();
    for (const socket of untaken) socket.destroy();
  };
  return {
    server,
    renew: tls?.renew,
    open: (to) => {
      handlers = to;
      const held = [...waiting.values()];
      waiting.clear();
      for (const look of held) look();
    },
    closeSilent,
    close: () => {
      server.close();
      closeSilent();
    },
  };
}

/** Limits of concurrent connections. */
export interface ConnectionBounds {
  readonly all: number;
  /** Limit for one address; connections of a Unix socket have no address. */
  readonly eachPeer: number;
}

/** Counts open connections or requests by address. An empty address (Unix socket) is not counted. */
export class PeerCounts {
  readonly #counts = new Map<string, number>();

  /** @returns the number of open ones, including this one. */
  enter(peer: string): number {
    if (peer === "") return 0;
    const count = (this.#counts.get(peer) ?? 0) + 1;
    this.#counts.set(peer, count);
    return count;
  }

  leave(peer: string): void {
    const left = (this.#counts.get(peer) ?? 1) - 1;
    if (left > 0) this.#counts.set(peer, left);
    else this.#counts.delete(peer);
  }
}

/** Closes new connections above the limits at once. */
export function limitConnections(server: Server, { all, eachPeer }: ConnectionBounds): void {
  server.maxConnections = all;
  const peers = new PeerCounts();
  server.prependListener("connection", (socket: Socket) => {
    const peer = plainAddress(socket.remoteAddress);
    socket.once("close", () => peers.leave(peer));
    if (peers.enter(peer) > eachPeer) socket.destroy();
  });
}

interface FrontOptions {
  /** Undefined: the port does not use TLS. */
  readonly credentials?: Credentials | undefined;
  /** Maximum wait of a connection for the handlers, in milliseconds. Default: 10,000. */
  readonly maxWaitMs?: number;
}

/** Listening port with its address. */
export interface OpenFront {
  readonly front: Front;
  /** Listening address, with the real port instead of port 0. */
  readonly address: Address;
}

/** @throws Error naming the address and what to do. */
export async function openFront(
  at: Address,
  options: ListenOptions & FrontOptions,
): Promise<OpenFront> {
  const front = createFront(options);
  return { front, address: await listen(front.server, at, options) };
}

/** HTTP/1.1 reply with `Connection: close`. */
function replyOf(status: string, text: string): string {
  return [
    `HTTP/1.1 ${status}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${text.length}`,
    "Cache-Control: no-store",
    "Connection: close",
    "",
    text,
  ].join("\r\n");
}

const STARTING = "the service is starting; try again in a moment\n";
const REPLY_UNAVAILABLE = replyOf("503 Service Unavailable\r\nRetry-After: 1", STARTING);
/** Requests that are answered before the handlers exist: start of the request line, and reply. */
const EARLY: readonly (readonly [string, string])[] = [
  ["GET /ping HTTP/1.", replyOf("200 OK", "pong")],
  ["GET /livez HTTP/1.", replyOf("200 OK", "ok\n")],
  ["GET /readyz HTTP/1.", replyOf("503 Service Unavailable", `[-] start: ${STARTING}`)],
];
const LONGEST_EARLY = Math.max(...EARLY.map(([line]) => line.length));
/**
 * Empty SETTINGS and GOAWAY with stream 0 and NO_ERROR: no stream was processed, so that clients may
 * repeat their requests (RFC 9113, section 6.8).
 */
const GOAWAY = Buffer.from("000000040000000000" + "00000807000000000000000000" + "00000000", "hex");

/** Passes connections to an HTTP/1.1 server that does not listen itself. */
export function toHttp1(server: HttpServer): ConnectionHandler {
  return (socket) => {
    server.emit("connection", socket);
    // The listener for "readable" has paused the flow; the parser waits for "data".
    socket.resume();
  };
}
