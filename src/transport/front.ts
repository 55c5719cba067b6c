import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import type { Address } from "./listen.ts";
import { type ListenOptions, listen } from "./listen.ts";
import { plainAddress } from "./peer.ts";
import { type Credentials, createTlsServer } from "./tls.ts";

/** The first bytes of the HTTP/2 connection preface (RFC 9113, section 3.4). No HTTP/1.1 method starts so. */
const PREFACE = "PRI";
/** How long a connection may say nothing at all, in milliseconds. */
const FIRST_BYTE_TIMEOUT = 30_000;
/** Time for a TLS handshake, in milliseconds: two or three round trips, and no reading of a body. */
const HANDSHAKE_TIMEOUT = 10_000;
/** Connections that may wait for the program to start. */
const MAX_WAITING = 1_000;

/** Takes over a connection whose first bytes already wait in its buffer. */
export type TakeConnection = (socket: Socket) => void;

/** Who takes connections, by their first bytes. */
export interface Takers {
  readonly http1: TakeConnection;
  readonly http2: TakeConnection;
}

/** A port. It may listen before anything stands behind it. */
export interface Front {
  readonly server: Server;
  /** Hands over the connections that wait, and every later one. */
  open(takers: Takers): void;
  /** Closes the connections that nobody has taken: their clients have not asked for anything. */
  closeSilent(): void;
  /** New connections get these credentials. Undefined: the port speaks no TLS. */
  readonly renew: ((credentials: Credentials) => void) | undefined;
}

/**
 * Makes the front: HTTP/2 connections go to one taker, all others to another. Until there are
 * takers, it answers `GET /ping` itself (docs/rest-contract.md, section 4: answers before anything else is
 * ready) and lets other connections wait. With credentials all of this happens within TLS.
 */
function createFront(credentials: Credentials | undefined): Front {
  let takers: Takers | undefined;
  /** What looks at a waiting connection again. */
  const waiting = new Map<Socket, () => void>();
  const untaken = new Set<Socket>();
  const meet = (socket: Socket): void => {
    if (socket.destroyed) return;
    untaken.add(socket);
    const onFailure = (): void => {
      waiting.delete(socket);
      untaken.delete(socket);
      socket.destroy();
    };
    /**
     * What the client has sent so far. It is put back only when somebody takes the connection: the
     * stream would announce it at once again, and nothing else would ever run.
     */
    let seen: Buffer = Buffer.alloc(0);
    const handOver = (take: TakeConnection): void => {
      untaken.delete(socket);
      socket.unshift(seen);
      socket.off("readable", onReadable);
      socket.off("error", onFailure);
      socket.off("timeout", onFailure);
      socket.off("close", onFailure);
      socket.setTimeout(0);
      take(socket);
    };
    const look = (): void => {
      const start = seen.toString("latin1", 0, PING.length);
      // "P" or "PR" may still become either.
      if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
      if (takers !== undefined) handOver(start.startsWith(PREFACE) ? takers.http2 : takers.http1);
      else if (start === PING) socket.end(PONG);
      else if (start.length < PING.length && PING.startsWith(start)) return;
      else if (waiting.size < MAX_WAITING) waiting.set(socket, look);
      else socket.destroy();
    };
    const onReadable = (): void => {
      // Who has to wait or has been answered is read no further.
      if (waiting.has(socket) || socket.writableEnded) return;
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      seen = Buffer.concat([seen, chunk]);
      look();
    };
    socket.setTimeout(FIRST_BYTE_TIMEOUT);
    socket.on("readable", onReadable);
    // A client that resets the connection before it said anything is nobody's failure.
    socket.on("error", onFailure);
    socket.on("timeout", onFailure);
    socket.on("close", onFailure);
  };
  const tls = credentials && createTlsServer(credentials, { handshakeMs: HANDSHAKE_TIMEOUT }, meet);
  return {
    server: tls?.server ?? createServer({ noDelay: true }, meet),
    renew: tls?.renew,
    open: (to) => {
      takers = to;
      const held = [...waiting.values()];
      waiting.clear();
      for (const look of held) look();
    },
    closeSilent: () => {
      tls?.closeSilent();
      for (const socket of untaken) socket.destroy();
    },
  };
}

/** Bounds of the connections that are open at one time. */
export interface ConnectionBounds {
  readonly all: number;
  /** From one address; connections of a Unix socket have none. */
  readonly eachPeer: number;
}

/** Counts what is open of each address. What has none, as of a Unix socket, is not counted. */
export class PeerCounts {
  readonly #counts = new Map<string, number>();

  /** @returns how many are open with this one. */
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

/** Closes connections beyond the bounds at once; those that are open already stay. */
export function limitConnections(server: Server, { all, eachPeer }: ConnectionBounds): void {
  server.maxConnections = all;
  const peers = new PeerCounts();
  server.prependListener("connection", (socket: Socket) => {
    const peer = plainAddress(socket.remoteAddress);
    socket.once("close", () => peers.leave(peer));
    if (peers.enter(peer) > eachPeer) socket.destroy();
  });
}

/** A front that listens. */
export interface OpenFront {
  readonly front: Front;
  /** With the real port where port 0 was asked for. */
  readonly address: Address;
}

/** @throws Error naming the address and what to do. */
export async function openFront(
  at: Address,
  options: ListenOptions & { readonly credentials?: Credentials | undefined },
): Promise<OpenFront> {
  const front = createFront(options.credentials);
  return { front, address: await listen(front.server, at, options) };
}

/** A request for /ping, as far as it has to be read. */
const PING = "GET /ping HTTP/1.";
const PONG = [
  "HTTP/1.1 200 OK",
  "Content-Type: text/plain; charset=utf-8",
  "Content-Length: 4",
  "Cache-Control: no-store",
  "Connection: close",
  "",
  "pong",
].join("\r\n");

/** Hands a connection to an HTTP/1.1 server that listens nowhere itself. */
export function toHttp1(server: HttpServer): TakeConnection {
  return (socket) => {
    server.emit("connection", socket);
    // The listener for "readable" has paused the flow; the parser waits for "data".
    socket.resume();
  };
}
