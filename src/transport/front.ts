import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { EARLY_REPLIES, GOAWAY, LONGEST_EARLY, UNAVAILABLE } from "./early-reply.ts";
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
  const unhandled = new Set<Socket>();
  const accept = (socket: Socket): void => {
    if (socket.destroyed) return;
    unhandled.add(socket);
    const onFailure = (): void => {
      clearTimeout(timer);
      waiting.delete(socket);
      unhandled.delete(socket);
      socket.destroy();
    };
    /**
     * Bytes received so far. They are put back only when a handler takes the connection: earlier,
     * the stream would emit them again immediately, in an endless loop.
     */
    let seen: Buffer = Buffer.alloc(0);
    let timer: NodeJS.Timeout | undefined;
    const hold = (): void => {
      waiting.set(socket, inspect);
      const reply = seen.toString("latin1").startsWith(PREFACE) ? GOAWAY : UNAVAILABLE;
      timer = setTimeout(() => {
        waiting.delete(socket);
        socket.end(reply);
      }, maxWaitMs).unref();
    };
    const handOver = (handler: ConnectionHandler): void => {
      unhandled.delete(socket);
      clearTimeout(timer);
      socket.unshift(seen);
      socket.off("readable", onReadable);
      socket.off("error", onFailure);
      socket.off("timeout", onFailure);
      socket.off("close", onFailure);
      socket.setTimeout(0);
      handler(socket);
    };
    const inspect = (): void => {
      const start = seen.toString("latin1", 0, LONGEST_EARLY);
      // "P" or "PR" may still become either.
      if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
      if (handlers !== undefined)
        handOver(start.startsWith(PREFACE) ? handlers.http2 : handlers.http1);
      else {
        const early = EARLY_REPLIES.find(
          ([line]) => start.startsWith(line) || line.startsWith(start),
        );
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
      inspect();
    };
    socket.setTimeout(FIRST_BYTE_TIMEOUT);
    socket.on("readable", onReadable);
    // A reset by the client before its first byte is not logged.
    socket.on("error", onFailure);
    socket.on("timeout", onFailure);
    socket.on("close", onFailure);
  };
  const tls =
    credentials && createTlsServer(credentials, { handshakeMs: HANDSHAKE_TIMEOUT }, accept);
  const server = tls?.server ?? createServer({ noDelay: true }, accept);
  const closeSilent = (): void => {
    tls?.closeSilent();
    for (const socket of unhandled) socket.destroy();
  };
  return {
    server,
    renew: tls?.renew,
    open: (to) => {
      handlers = to;
      const held = [...waiting.values()];
      waiting.clear();
      for (const inspect of held) inspect();
    },
    closeSilent,
    close: () => {
      server.close();
      closeSilent();
    },
  };
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

/** Passes connections to an HTTP/1.1 server that does not listen itself. */
export function toHttp1(server: HttpServer): ConnectionHandler {
  return (socket) => {
    server.emit("connection", socket);
    // The listener for "readable" has paused the flow; the parser waits for "data".
    socket.resume();
  };
}
