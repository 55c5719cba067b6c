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
  const arrivals: Arrivals = {
    handlers: undefined,
    waiting: new Set(),
    unhandled: new Set(),
    maxWaitMs,
  };
  const accept = (socket: Socket): void => {
    if (!socket.destroyed) new Arrival(socket, arrivals);
  };
  const tls =
    credentials && createTlsServer(credentials, { handshakeMs: HANDSHAKE_TIMEOUT }, accept);
  const server = tls?.server ?? createServer({ noDelay: true }, accept);
  const closeSilent = (): void => {
    tls?.closeSilent();
    for (const socket of arrivals.unhandled) socket.destroy();
  };
  return {
    server,
    renew: tls?.renew,
    open: (to) => {
      arrivals.handlers = to;
      const held = [...arrivals.waiting];
      arrivals.waiting.clear();
      for (const arrival of held) arrival.inspect();
    },
    closeSilent,
    close: () => {
      server.close();
      closeSilent();
    },
  };
}

/** The connections of a port that have no handler yet. */
interface Arrivals {
  /** Undefined until the service has started. */
  handlers: ConnectionHandlers | undefined;
  /** Those that wait for the start. */
  readonly waiting: Set<Arrival>;
  readonly unhandled: Set<Socket>;
  readonly maxWaitMs: number;
}

/** A connection until its protocol is known and a handler takes it. */
class Arrival {
  readonly #socket: Socket;
  readonly #arrivals: Arrivals;
  /**
   * Bytes received so far. They are put back only when a handler takes the connection: earlier, the
   * stream would emit them again immediately, in an endless loop.
   */
  #seen: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;
  readonly #onReadable = (): void => this.#read();
  readonly #onFailure = (): void => this.#fail();

  constructor(socket: Socket, arrivals: Arrivals) {
    this.#socket = socket;
    this.#arrivals = arrivals;
    arrivals.unhandled.add(socket);
    socket.setTimeout(FIRST_BYTE_TIMEOUT);
    socket.on("readable", this.#onReadable);
    // A reset by the client before its first byte is not logged.
    socket.on("error", this.#onFailure);
    socket.on("timeout", this.#onFailure);
    socket.on("close", this.#onFailure);
  }

  #read(): void {
    // A waiting or answered connection is not read.
    if (this.#arrivals.waiting.has(this) || this.#socket.writableEnded) return;
    const chunk: Buffer | null = this.#socket.read();
    if (chunk === null) return;
    this.#seen = Buffer.concat([this.#seen, chunk]);
    this.inspect();
  }

  /** Finds the protocol, and passes the connection to its handler if the service has started. */
  inspect(): void {
    const start = this.#seen.toString("latin1", 0, LONGEST_EARLY);
    // "P" or "PR" may still become either.
    if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
    const { handlers } = this.#arrivals;
    if (handlers === undefined) this.#beforeStart(start);
    else this.#handOver(start.startsWith(PREFACE) ? handlers.http2 : handlers.http1);
  }

  #beforeStart(start: string): void {
    const { waiting } = this.#arrivals;
    const early = EARLY_REPLIES.find(([line]) => start.startsWith(line) || line.startsWith(start));
    if (early !== undefined && start.length < early[0].length) return;
    if (early !== undefined) this.#socket.end(early[1]);
    else if (waiting.size < MAX_WAITING) this.#hold();
    else this.#socket.destroy();
  }

  #hold(): void {
    const { waiting, maxWaitMs } = this.#arrivals;
    waiting.add(this);
    const reply = this.#seen.toString("latin1").startsWith(PREFACE) ? GOAWAY : UNAVAILABLE;
    this.#timer = setTimeout(() => {
      waiting.delete(this);
      this.#socket.end(reply);
    }, maxWaitMs).unref();
  }

  #handOver(handler: ConnectionHandler): void {
    const socket = this.#socket;
    this.#arrivals.unhandled.delete(socket);
    clearTimeout(this.#timer);
    socket.unshift(this.#seen);
    socket.off("readable", this.#onReadable);
    socket.off("error", this.#onFailure);
    socket.off("timeout", this.#onFailure);
    socket.off("close", this.#onFailure);
    socket.setTimeout(0);
    handler(socket);
  }

  #fail(): void {
    clearTimeout(this.#timer);
    this.#arrivals.waiting.delete(this);
    this.#arrivals.unhandled.delete(this.#socket);
    this.#socket.destroy();
  }
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
