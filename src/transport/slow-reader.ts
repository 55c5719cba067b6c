import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";

/** Bounds of what waits for clients that read slowly. */
export interface SlowReaderBounds {
  /** Bytes that may wait, of all streams together. */
  readonly together: number;
  /** Time that a stream may take nothing, in milliseconds. */
  readonly patienceMs: number;
}

/** Stream with written bytes that its client has not read. */
interface Blocked {
  drop(): void;
}

/** Replies up to this length, in bytes, are not counted: a connection holds few of them. */
const SMALL = 16 * 1024;

/** Observation of a stream that waits for its reader. */
interface Rest {
  /** Bytes that wait, with all of a piece that has left in part. */
  readonly bytes: number;
  /** When there were that many first. */
  readonly since: number;
  /** Bytes written to its connection. */
  readonly written: number | undefined;
  /** When that was more than before. */
  readonly moved: number;
}

/**
 * Slowest pace at which a large piece of a reply may leave beside others, in bytes per second: how
 * much of it has left, Node doesn't say.
 */
const PACE = 4 * 1024;
/** A transfer may be paused by its reader, such as a film: for so many times a client's patience. */
const PAUSE = 30;
/** Number of checks of a stream within the client's limit. */
const CHECKS_PER_PATIENCE = 5;

const made = new WeakSet<object>();

/** Marks a stream whose reply is complete, though it may be written in pieces. @internal */
export function replyIsMade(stream: Writable): void {
  made.add(stream);
}

/**
 * Watches over streams that are written faster than their clients read. A stream is written no
 * further until its client has read; one that takes nothing for too long is dropped, and when all of
 * them together hold too much, the one that has been blocked the longest.
 */
export class SlowReaders {
  readonly #bounds: SlowReaderBounds;
  /** In the order in which they were blocked. */
  readonly #blocked = new Set<Blocked>();
  /** The connections of HTTP/2. */
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Observations of waiting streams. */
  readonly #rests = new WeakMap<ServerHttp2Stream, Rest>();
  #looking: NodeJS.Timeout | undefined;
  /** Number of streams that hold a reply: shared bytes are in memory once. */
  readonly #holders = new Map<Buffer, number>();
  #bytes = 0;
  #dropped = 0;

  constructor(bounds: SlowReaderBounds) {
    this.#bounds = bounds;
  }

  /** Bytes that wait now, of all streams. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Streams that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Writes to a stream and waits where its client has to read first.
   *
   * @returns false when it never will: it has gone away, or was dropped.
   */
  write(stream: Writable, chunk: Buffer): boolean | Promise<boolean> {
    if (stream.destroyed) return false;
    return stream.write(chunk) || this.#drained(stream, chunk.length);
  }

  /**
   * Counts a whole reply that is about to be sent until its stream has finished or closed. A reply that
   * several streams have counts once.
   *
   * @param stream that emits `finish` or `close`: of HTTP/2 the stream itself.
   */
  hold(stream: Writable, reply: Buffer): void {
    if (reply.length <= SMALL || stream.destroyed) return;
    const holders = this.#holders.get(reply) ?? 0;
    this.#holders.set(reply, holders + 1);
    if (holders === 0) this.#bytes += reply.length;
    const end = (): void => {
      if (!this.#blocked.delete(blocked)) return;
      stream.off("finish", end).off("close", end);
      const left = (this.#holders.get(reply) ?? 1) - 1;
      if (left > 0) this.#holders.set(reply, left);
      else {
        this.#holders.delete(reply);
        this.#bytes -= reply.length;
      }
    };
    const blocked: Blocked = {
      drop: () => {
        this.#dropped += 1;
        end();
        stream.destroy();
      },
    };
    stream.on("finish", end).on("close", end);
    this.#blocked.add(blocked);
    this.#dropOldest();
  }

  /** Drops those that have been blocked the longest, until the rest fits. The newest one stays. */
  #dropOldest(): void {
    for (const oldest of this.#blocked) {
      if (this.#bytes <= this.#bounds.together || this.#blocked.size === 1) break;
      oldest.drop();
    }
  }

  #drained(stream: Writable, bytes: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (read: boolean): void => {
      clearTimeout(timer);
      if (this.#blocked.delete(blocked)) this.#bytes -= bytes;
      stream.off("drain", onDrain).off("close", onClose);
      resolve(read);
    };
    const onDrain = (): void => end(true);
    const onClose = (): void => end(false);
    const blocked: Blocked = {
      drop: () => {
        this.#dropped += 1;
        end(false);
        stream.destroy();
      },
    };
    const timer = setTimeout(() => blocked.drop(), this.#bounds.patienceMs);
    stream.on("drain", onDrain).on("close", onClose);
    this.#blocked.add(blocked);
    this.#bytes += bytes;
    for (const oldest of this.#blocked) {
      if (this.#bytes <= this.#bounds.together) break;
      oldest.drop();
    }
    return promise;
  }

  /**
   * Resets a connection's streams whose client takes nothing of a complete reply for too long, or
   * for far longer of one that is still being written. The client controls the window of a stream
   * and may keep it closed.
   */
  watch(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => {
      this.#sessions.delete(session);
      if (this.#sessions.size > 0) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    });
    // One timer for all streams keeps it out of short calls.
    this.#looking ??= setInterval(
      () => this.#look(),
      this.#bounds.patienceMs / CHECKS_PER_PATIENCE,
    ).unref();
  }

  #look(): void {
    const now = performance.now();
    for (const stream of [...this.#sessions].flatMap(openStreams)) {
      const before = this.#rests.get(stream);
      // Ended: nothing more is written. Finished: all of it has left. A stream that only has little
      // to write does not wait for its reader.
      const isWhole = stream.writableEnded || made.has(stream);
      if (stream.writableFinished || stream.destroyed) continue;
      if (!isWhole && !stream.writableNeedDrain) continue;
      // Pieces may all have one length: that others have come since says only this event.
      if (before === undefined) stream.once("drain", () => this.#rests.delete(stream));
      const rest = restOf(stream, before, now);
      if (this.#isLeft(rest, now, isWhole ? 1 : PAUSE)) {
        this.#dropped += 1;
        stream.close(constants.NGHTTP2_CANCEL);
        // A closed stream still waits for its last bytes to be sent.
        stream.destroy();
      } else this.#rests.set(stream, rest);
    }
  }

  #isLeft({ bytes, since, moved }: Rest, now: number, times: number): boolean {
    const patienceMs = this.#bounds.patienceMs * times;
    return now - moved >= patienceMs || now - since >= patienceMs + (bytes / PACE) * 1_000;
  }
}

/** Node keeps them in a private member, which tests of slow readers hold. */
function openStreams(session: ServerHttp2Session): ServerHttp2Stream[] {
  const symbols = Object.getOwnPropertySymbols(session);
  const name = symbols.find(({ description }) => description === "state") ?? Symbol();
  const state = (session as unknown as Record<symbol, State | undefined>)[name];
  return [...(state?.streams.values() ?? [])];
}

interface State {
  readonly streams: ReadonlyMap<number, ServerHttp2Stream>;
}

function restOf(stream: ServerHttp2Stream, before: Rest | undefined, now: number): Rest {
  const bytes = stream.writableLength;
  const written = stream.session?.socket?.bytesWritten;
  if (before?.bytes !== bytes) return { bytes, written, since: now, moved: now };
  return before.written === written ? before : { ...before, written, moved: now };
}
