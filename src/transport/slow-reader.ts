import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";

/** Limits of data buffered for slow readers. */
export interface SlowReaderBounds {
  /** Maximum number of buffered bytes of all streams together. */
  readonly together: number;
  /** Time limit of a stream without progress, in milliseconds. */
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
  /** Buffered bytes; a partly sent piece counts as a whole. */
  readonly bytes: number;
  /** Time of the first observation with this number of bytes. */
  readonly since: number;
  /** Bytes written to its connection. */
  readonly written: number | undefined;
  /** Time of its last increase. */
  readonly moved: number;
}

/**
 * Minimum rate of a large piece beside other streams, in bytes per second: Node does not report how
 * much of a piece is sent.
 */
const PACE = 4 * 1024;
/** Factor of the time limit for incomplete replies: a reader may pause a transfer, such as a film. */
const PAUSE = 30;
/** Number of checks within the time limit. */
const CHECKS_PER_PATIENCE = 5;

const made = new WeakSet<object>();

/** Marks a stream whose reply is complete, though it may be written in pieces. @internal */
export function replyIsMade(stream: Writable): void {
  made.add(stream);
}

/**
 * Monitors streams that are written faster than their clients read. Writing pauses until the client has
 * read. A stream without progress is dropped after the time limit; if all streams together buffer too
 * much, the one that has been blocked the longest is dropped.
 */
export class SlowReaders {
  readonly #bounds: SlowReaderBounds;
  /** In the order in which they were blocked. */
  readonly #blocked = new Set<Blocked>();
  /** The connections of HTTP/2. */
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Observations of waiting streams. */
  readonly #rests = new WeakMap<ServerHttp2Stream, Rest>();
  #checks: NodeJS.Timeout | undefined;
  /** Number of streams that hold a reply: shared bytes are in memory once. */
  readonly #holders = new Map<Buffer, number>();
  #bytes = 0;
  #dropped = 0;

  constructor(bounds: SlowReaderBounds) {
    this.#bounds = bounds;
  }

  /** Buffered bytes of all streams. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Streams that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Writes to a stream and waits until its client has read, if necessary.
   *
   * @returns false if the client has disconnected or the stream was dropped.
   */
  write(stream: Writable, chunk: Buffer): boolean | Promise<boolean> {
    if (stream.destroyed) return false;
    return stream.write(chunk) || this.#drained(stream, chunk.length);
  }

  /**
   * Counts a complete reply until its stream has finished or closed. A reply shared by several streams
   * counts once.
   *
   * @param stream emits `finish` or `close`; over HTTP/2 the HTTP/2 stream.
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

  /** Drops the longest-blocked streams until the rest fits. The newest one stays. */
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
   * Resets streams of a connection without progress: complete replies after the time limit, incomplete
   * ones after a multiple of it. A client can keep the flow-control window of a stream closed.
   */
  watch(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => {
      this.#sessions.delete(session);
      if (this.#sessions.size > 0) return;
      clearInterval(this.#checks);
      this.#checks = undefined;
    });
    // One timer for all streams, so that short calls need none.
    this.#checks ??= setInterval(
      () => this.#check(),
      this.#bounds.patienceMs / CHECKS_PER_PATIENCE,
    ).unref();
  }

  #check(): void {
    const now = performance.now();
    for (const stream of [...this.#sessions].flatMap(openStreams)) {
      const before = this.#rests.get(stream);
      // Ended: nothing more is written. Finished: everything is sent. A stream with little output does
      // not wait for its reader.
      const isWhole = stream.writableEnded || made.has(stream);
      if (stream.writableFinished || stream.destroyed) continue;
      if (!isWhole && !stream.writableNeedDrain) continue;
      // Pieces may have equal lengths: only this event shows that another one was written.
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

/** Open streams of a session, from a private member of Node, which tests check. */
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
