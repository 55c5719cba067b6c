import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";

/** Factor of the free bytes that one principal may hold. */
const OF_FREE = 3;

/**
 * Byte budget shared by all request bodies of the process, on all transports. One peer may hold half of
 * it. One principal, whatever its addresses, may hold three times as much as is free: three quarters
 * alone, three sevenths beside another one, and so on. The rest stays free for others.
 */
export class Buffered {
  readonly #max: number;
  readonly #peers = new Map<string, number>();
  readonly #principals = new Map<string, number>();
  /** Waiting work on large bodies, by principal, in the order of their turns. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #isBusy = false;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Maximum number of bytes that one peer may hold. */
  get share(): number {
    return this.#max / 2;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Reserves bytes.
   *
   * @param principal name of the caller; empty: unknown.
   * @returns false if they exceed a share or the budget; nothing is reserved.
   */
  reserve(peer: string, bytes: number, principal = ""): boolean {
    const free = this.#max - this.#bytes - bytes;
    const ofPeer = (this.#peers.get(peer) ?? 0) + bytes;
    const ofPrincipal = (this.#principals.get(principal) ?? 0) + bytes;
    if (free < 0 || ofPeer > this.share) return false;
    if (principal !== "" && ofPrincipal > OF_FREE * free) return false;
    this.#bytes += bytes;
    this.#peers.set(peer, ofPeer);
    if (principal !== "") this.#principals.set(principal, ofPrincipal);
    return true;
  }

  /** Releases reserved bytes. */
  release(peer: string, bytes: number, principal = ""): void {
    this.#bytes -= bytes;
    subtract(this.#peers, peer, bytes);
    subtract(this.#principals, principal, bytes);
  }

  /**
   * Runs work on large bodies one at a time, with an event-loop tick between two. Principals take turns:
   * one with many bodies delays others by one of them.
   */
  inTurn<T>(work: () => T | Promise<T>, principal = ""): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const own = this.#waiting.get(principal) ?? [];
    this.#waiting.set(principal, own);
    own.push(() => Promise.resolve().then(work).then(resolve, reject));
    if (!this.#isBusy) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    for (;;) {
      await nextTurn();
      const [first] = this.#waiting;
      if (first === undefined) break;
      const [principal, own] = first;
      const work = own.shift();
      // A principal with more work takes its next turn after the others.
      this.#waiting.delete(principal);
      if (own.length > 0) this.#waiting.set(principal, own);
      await work?.();
    }
    this.#isBusy = false;
  }
}

function subtract(held: Map<string, number>, name: string, bytes: number): void {
  const left = (held.get(name) ?? 0) - bytes;
  if (left > 0) held.set(name, left);
  else held.delete(name);
}

/** Bounds of a request message, which are checked before anything is made of its bytes. */
export interface MessageLimits {
  /** Maximum number of values: many small ones take more time than their size suggests. */
  readonly values: number;
  /** Addition to the error of too many values, such as what the limit stands for. */
  readonly about?: string;
  /** Maximum length of one text or `bytes` value, in bytes. */
  readonly text: number;
}

/** Bounds of request bodies. */
export interface BodyBounds {
  /** Bytes that all bodies hold together, of which each client has a share. */
  readonly buffered: Buffered;
  /** Time limit for a whole body, in milliseconds. */
  readonly timeoutMs: number;
  /** Longest body, in bytes. */
  readonly maxBytes: number;
}

/**
 * Error class with an exact `instanceof`: ConnectError accepts every error that resembles one, and
 * subclasses would inherit that.
 *
 * @internal
 */
export class Fault extends ConnectError {
  /** HTTP status; undefined: that of the code. */
  readonly status?: number;
  /** Code of the JSON envelope; undefined: that of the code. */
  readonly envelopeCode?: number;
  /** For `google.rpc.ErrorInfo`; undefined: the error has its details, or none. */
  readonly reason?: Reason | undefined;

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: `this` may be a subclass.
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** A request that its client has to correct. @internal */
export class BadRequest extends Fault {
  override readonly reason: Reason;

  /** @param code default: INVALID_ARGUMENT. */
  constructor(
    reason: Reason,
    message: string,
    code: Code = Code.InvalidArgument,
    headers?: Readonly<Record<string, string>>,
  ) {
    super(message, code, headers);
    this.reason = reason;
  }
}

/** The client disconnected before the end of its request. @internal */
export class RequestAborted extends Fault {
  constructor() {
    super("the client disconnected before the end of its request", Code.Canceled);
  }
}

/** A body that was refused. @internal */
class BodyError extends Fault {
  /** HTTP status (RFC 9110, section 15.5; RFC 6585). */
  override readonly status: 408 | 413 | 429;

  override readonly reason: Reason;

  constructor(
    status: BodyError["status"],
    message: string,
    code: Code,
    headers?: Readonly<Record<string, string>>,
  ) {
    super(message, code, { ...headers });
    this.status = status;
    this.reason = REASONS[status];
  }
}

const REASONS = { 408: "BODY_TOO_LATE", 413: "BODY_TOO_LARGE", 429: "TOO_MANY_BODIES" } as const;

/** Incoming body. @internal */
export interface Incoming {
  readonly stream: Readable;
  readonly peer: string;
  /** Name of the caller, for its share of the byte budget. Default: unknown. */
  readonly principal?: string | undefined;
  /**
   * Reports whether the request is complete, at the event `end`. Node also emits it when an HTTP/2
   * stream was reset or its connection is lost.
   *
   * @param bytes received.
   */
  hasEnded(bytes: number): boolean;
  /** Ends the wait, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** The stream is not the request itself: its errors are problems of the body. */
  readonly isDerived?: boolean;
}

/**
 * Reads a body to its end, and releases its memory as soon as `use` returns: its result must not be
 * a view of it. Large bodies are used one at a time, each in its own tick of the event loop.
 *
 * @param limit longest body of this request, in bytes.
 * @throws RequestAborted when the client disconnects before the end; RESOURCE_EXHAUSTED over the
 * limit, or when the budget is exhausted; DEADLINE_EXCEEDED when it does not arrive in time. The
 * transport handles further data.
 *
 * @internal
 */
export async function readBody<T>(
  incoming: Incoming,
  bounds: BodyBounds,
  limit: number,
  use: (body: Buffer) => T | Promise<T>,
): Promise<T> {
  const { buffered, timeoutMs } = bounds;
  const { stream, peer, principal, signal } = incoming;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const body = new Gathered(limit);
  const onData = (chunk: Buffer): void => {
    if (body.size + chunk.length > limit) reject(bodyTooLarge(limit));
    else if (!buffered.reserve(peer, chunk.length, principal)) reject(bodyCrowded());
    else body.add(chunk);
  };
  const onEnd = (): void => {
    // It follows before the listeners below are removed, and an error for it takes 2 µs.
    stream.off("close", onGone);
    if (incoming.hasEnded(body.size)) resolve(body.bytes);
    else reject(new RequestAborted());
  };
  const onGone = (): void => reject(new RequestAborted());
  const onError = (error: unknown): void =>
    reject(incoming.isDerived ? error : new RequestAborted());
  const onAbort = (): void => reject(signal?.reason);
  const timer = setTimeout(() => reject(bodyLate(timeoutMs)), timeoutMs);
  stream.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onError);
  // A hook may have paused the stream that it has put in the place of the request.
  if (incoming.isDerived) stream.resume();
  // Past events are not emitted again: an HTTP/2 stream without a body has ended already.
  if (stream.readableEnded) onEnd();
  else if (stream.destroyed) onGone();
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort);
  try {
    return await useBody(buffered, await promise, use, principal);
  } finally {
    clearTimeout(timer);
    stream.off("data", onData).off("end", onEnd).off("close", onGone).off("error", onError);
    // No-op: later errors do not matter, and the request may continue without its body.
    stream.on("error", ignore);
    signal?.removeEventListener("abort", onAbort);
    buffered.release(peer, body.size, principal);
    body.clear();
  }
}

/**
 * Passes a whole body to `use`, large bodies one at a time.
 *
 * @internal
 */
export function useBody<T>(
  buffered: Buffered,
  body: Buffer,
  use: (body: Buffer) => T | Promise<T>,
  principal?: string,
): T | Promise<T> {
  return body.length > LARGE ? buffered.inTurn(() => use(body), principal) : use(body);
}

const ignore = (): void => undefined;
/** Size of a large body in bytes: it takes milliseconds to decode, and several times its size in memory. */
const LARGE = 256 * 1024;
const NOTHING = Buffer.alloc(0);
/** Bytes that a piece may retain in addition to the body, such as headers. */
const BESIDE = 1_024;

/**
 * Received part of a body. It takes at most twice its size: a piece is a view of all bytes read at
 * once, so that one byte among other frames would keep 64 kB.
 *
 * @internal
 */
export class Gathered {
  #room: Buffer = NOTHING;
  /** Memory of the room; undefined while the room is a piece, whose memory Node may share. */
  #own: ArrayBuffer | undefined;
  #size = 0;
  readonly #limit: number;

  /** @param limit maximum size in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (this.#size === 0 && piece.buffer.byteLength <= 2 * piece.length + BESIDE) {
      // Most bodies are one piece, which is used without a copy.
      this.#room = piece;
    } else {
      if (size > this.#room.length)
        this.#grow(this.#size === 0 ? size : Math.min(2 * size, this.#limit));
      piece.copy(this.#room, this.#size);
      release(piece);
    }
    this.#size = size;
  }

  /**
   * Frees the memory at once: the garbage collector accounts for little memory outside of its heap.
   */
  clear(): void {
    this.#own?.transfer(0);
    this.#room = NOTHING;
    this.#own = undefined;
    this.#size = 0;
  }

  /** Frees the smaller buffer at once, without waiting for the garbage collector. */
  #grow(length: number): void {
    const own = this.#own?.transfer(length) ?? new ArrayBuffer(length);
    const room = Buffer.from(own);
    if (this.#own === undefined) this.bytes.copy(room);
    this.#own = own;
    this.#room = room;
  }
}

/** Maximum number of discarded bytes of a refused request. */
const DISCARDED = 8 * 1024 * 1024;
/** Maximum time of discarding a refused request, in milliseconds. @internal */
export const DISCARDING = 10_000;

/**
 * Discards the rest of a request that was answered, so that its client reads the reply; beyond the
 * limits the connection is cut.
 *
 * @internal
 */
export function discardRest(stream: Readable, cut: () => void): void {
  if (stream.destroyed || stream.readableEnded) return;
  let left = DISCARDED;
  const timer = setTimeout(cut, DISCARDING).unref();
  const stop = (): void => clearTimeout(timer);
  stream.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    release(chunk);
    if (left < 0) cut();
  });
  stream.once("end", stop).once("close", stop).on("error", stop).resume();
}

/** Error of a body that exceeds the byte budget. @internal */
export function bodyCrowded(): ConnectError {
  const message = "the byte budget for request bodies is exhausted; try again in a moment";
  return new BodyError(429, message, Code.ResourceExhausted, { "retry-after": "1" });
}

/** Error of a body that does not arrive in time. @internal */
export function bodyLate(ms: number): ConnectError {
  const message = `the request's body did not arrive within ${ms / 1_000} seconds`;
  return new BodyError(408, message, Code.DeadlineExceeded);
}

/** Error of a body over its limit. @internal */
export function bodyTooLarge(limit: number): ConnectError {
  return new BodyError(413, `the request is larger than ${limit} bytes`, Code.ResourceExhausted);
}

/** Releases the memory of unused bytes: they are empty afterwards. @internal */
export function release(piece: Buffer): void {
  const { buffer } = piece;
  // Small pieces share their memory with others.
  if (piece.length > 0 && piece.length === buffer.byteLength && buffer instanceof ArrayBuffer)
    buffer.transfer(0);
}

/**
 * Reasons of the errors that transports and gateway raise themselves, for `google.rpc.ErrorInfo`.
 * Errors of an application have their own reasons.
 *
 * @internal
 */
export type Reason =
  | "PATH_INVALID"
  | "QUERY_INVALID"
  | "HEADER_INVALID"
  | "BODY_INVALID"
  | "BODY_TOO_LARGE"
  | "BODY_TOO_LATE"
  | "TOO_MANY_BODIES"
  | "PATH_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "MEDIA_TYPE_UNSUPPORTED";
