import type { Writable } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import type { SlowReaders } from "../transport/slow-reader.ts";

/** Times of streams, in milliseconds. */
export interface StreamTimes {
  /** Interval of heartbeats of an idle stream, if its protocol has any. Default: 15,000. */
  readonly heartbeat?: number | undefined;
  /**
   * Time that a stream waits for its first message before its head is sent; until then it can fail
   * with an ordinary reply. In milliseconds. Default: 1,000.
   */
  readonly patience?: number | undefined;
}

/** Sink of a stream with back-pressure: writes no faster than the client reads. @internal */
export interface Sink {
  /**
   * Writes, and waits for the client to read if necessary.
   *
   * @returns false if the client has disconnected or the stream was dropped.
   */
  write(chunk: Buffer): boolean | Promise<boolean>;
  /** Writes unless the client must read first. */
  beat(chunk: Buffer): void;
}

/** The sink of a stream of Node. @internal */
export function nodeSink(slow: Pick<SlowReaders, "write">, stream: Writable): Sink {
  return {
    write: (chunk) => slow.write(stream, chunk),
    beat: (chunk) => {
      if (!stream.writableNeedDrain && !stream.destroyed) stream.write(chunk);
    },
  };
}

/** A reply that is a stream, in the form of its protocol. @internal */
export interface StreamReply {
  readonly sink: Sink;
  /** Whether the head was sent, or the client has disconnected. */
  isOpen(): boolean;
  /** Sends the headers, before the first message or without one. */
  open(first?: Message): void;
  /** Encodes a message. Streams that send the same message share the bytes. */
  encode(message: Message): Buffer | Promise<Buffer>;
  /** Ends the stream; `error` is the reason, undefined: it is complete. */
  end(error: unknown): void;
  /** Heartbeat of an idle stream; undefined: the protocol has none. */
  readonly beat?: Buffer | undefined;
}

/**
 * Sends messages until the iteration or the connection ends.
 *
 * @param signal ends the stream with its reason, also if the iteration does not end.
 * @throws what the iteration throws before anything was sent.
 *
 * @internal
 */
export type SendStream = (
  reply: StreamReply,
  messages: AsyncIterable<Message>,
  signal?: AbortSignal,
) => Promise<void>;

interface Beating {
  readonly sink: Sink;
  readonly beat: Buffer;
  /** Data was written since the last beat. */
  active: boolean;
}

/** @internal */
export function createSendStream(times: StreamTimes = {}): SendStream {
  const { heartbeat = 15_000, patience = 1_000 } = times;
  const hearts = createHeartbeat(heartbeat);
  return async (reply, all, signal) => {
    const messages = signal === undefined ? all : untilAborted(all, signal);
    const { sink, beat } = reply;
    const heart: Beating | undefined = beat && { sink, beat, active: true };
    const open = (first?: Message): void => {
      if (reply.isOpen()) return;
      reply.open(first);
      if (heart) hearts.add(heart);
    };
    const timer = setTimeout(open, patience);
    let failure: unknown;
    try {
      for await (const message of messages) {
        // A first message without a valid encoding fails with an ordinary reply.
        const bytes = await reply.encode(message);
        open(message);
        if (heart) heart.active = true;
        if (!(await sink.write(bytes))) return;
      }
    } catch (error) {
      if (!reply.isOpen()) throw error;
      failure = error;
    } finally {
      clearTimeout(timer);
      if (heart) hearts.delete(heart);
    }
    open();
    reply.end(failure);
  };
}

/**
 * The messages until a signal is aborted. The iteration may end itself then; if it has not at the next
 * tick of the event loop, it fails with the reason.
 */
async function* untilAborted(
  messages: AsyncIterable<Message>,
  signal: AbortSignal,
): AsyncIterable<Message> {
  const iterator = messages[Symbol.asyncIterator]();
  // Not Promise.race: one promise for the whole stream would retain part of each message.
  let refuse: (reason: unknown) => void = () => undefined;
  const end = (): void => void setTimeout(() => refuse(signal.reason));
  signal.addEventListener("abort", end, { once: true });
  const next = (): Promise<IteratorResult<Message>> => {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Message>>();
    refuse = reject;
    iterator.next().then(resolve, reject);
    if (signal.aborted) end();
    return promise;
  };
  try {
    for (let result = await next(); !result.done; result = await next()) yield result.value;
  } finally {
    signal.removeEventListener("abort", end);
    // Not awaited: a generator that waits for something else does not end before it.
    iterator.return?.()?.catch(ignore);
  }
}

/** No-op: the stream has ended already. */
const ignore = (): void => undefined;

interface Heartbeat {
  add(heart: Beating): void;
  delete(heart: Beating): void;
}

/** One timer for all streams. */
function createHeartbeat(interval: number): Heartbeat {
  const hearts = new Set<Beating>();
  let timer: NodeJS.Timeout | undefined;
  const start = (): NodeJS.Timeout => setInterval(() => hearts.forEach(beat), interval).unref();
  return {
    add: (heart) => {
      hearts.add(heart);
      timer ??= start();
    },
    delete: (heart) => {
      hearts.delete(heart);
      if (hearts.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function beat(heart: Beating): void {
  if (heart.active) heart.active = false;
  else heart.sink.beat(heart.beat);
}
