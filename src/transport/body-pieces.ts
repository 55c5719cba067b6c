import {
  type BodyBounds,
  bodyCrowded,
  bodyLate,
  bodyTooLarge,
  type Incoming,
  RequestAborted,
} from "./body.ts";

/** Pieces of a body, in order. Each counts in the byte budget until it is released. */
export interface BodyPieces extends AsyncIterable<Buffer> {
  /**
   * Releases bytes of a message that is no longer in use to the budget. The time for the next message
   * starts.
   */
  release(bytes: number): void;
  /** Stops reading and releases all pieces. The stream stays open. */
  stop(): void;
}

/**
 * Reads a body piece by piece, for requests that are streams. The stream is paused while a piece is
 * in use.
 *
 * @throws RequestAborted when the client disconnects before the end; RESOURCE_EXHAUSTED when the
 * budget is exhausted; DEADLINE_EXCEEDED when the waits for the pieces of one message take longer than
 * `bounds.timeoutMs` together; the reason of the signal.
 */
export function readPieces(incoming: Incoming, bounds: BodyBounds): BodyPieces {
  const { stream, signal, peer, principal } = incoming;
  const { buffered, timeoutMs } = bounds;
  const queue: Buffer[] = [];
  let [received, held, waited, started] = [0, 0, 0, false];
  let end: { readonly error?: unknown } | undefined;
  let wake: (() => void) | undefined;
  const finish = (error?: unknown): void => {
    end ??= error === undefined ? {} : { error };
    wake?.();
  };
  const onData = (piece: Buffer): void => {
    stream.pause();
    received += piece.length;
    if (buffered.reserve(peer, piece.length, principal)) {
      held += piece.length;
      queue.push(piece);
      wake?.();
    } else finish(bodyCrowded());
  };
  const onEnd = (): void => finish(incoming.hasEnded(received) ? undefined : new RequestAborted());
  const onGone = (): void => finish(new RequestAborted());
  const onError = (error: unknown): void =>
    finish(incoming.isDerived ? error : new RequestAborted());
  const onAbort = (): void => finish(signal?.reason);
  const start = (): void => {
    started = true;
    stream.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onError);
    if (stream.readableEnded) onEnd();
    else if (stream.destroyed) onGone();
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort);
  };
  const release = (bytes: number): void => {
    const given = Math.min(bytes, held);
    held -= given;
    waited = 0;
    if (given > 0) buffered.release(peer, given, principal);
  };
  const stop = (): void => {
    finish();
    release(held);
    queue.length = 0;
    if (!started) return;
    stream.off("data", onData).off("end", onEnd).off("close", onGone).off("error", onError);
    signal?.removeEventListener("abort", onAbort);
  };
  const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
    if (!started) start();
    const since = performance.now();
    const timer = setTimeout(() => finish(bodyLate(timeoutMs)), Math.max(1, timeoutMs - waited));
    while (queue.length === 0 && end === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      stream.resume();
      await promise;
    }
    clearTimeout(timer);
    waited += performance.now() - since;
    const value = queue.shift();
    if (value !== undefined) return { done: false, value };
    stop();
    if (end?.error !== undefined) throw end.error;
    return { done: true, value: undefined };
  };
  return {
    release,
    stop,
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        stop();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** Framing of messages in a stream. */
export interface Framing {
  /**
   * Length of the first message including its framing, in bytes; undefined while its end has not
   * arrived.
   *
   * @param seen number of bytes that an earlier call has inspected.
   */
  cut(bytes: Buffer, seen: number): number | undefined;
  /** Maximum length of a message including its framing, in bytes. */
  readonly limit: number;
}

/**
 * Messages of a body, and an incomplete rest, if any. Each is a view of reused memory.
 *
 * @throws RESOURCE_EXHAUSTED for a message above the limit; as readPieces.
 */
export async function* readFrames(
  pieces: BodyPieces,
  { cut, limit }: Framing,
): AsyncGenerator<Buffer> {
  let room: Buffer = Buffer.alloc(0);
  let [start, end, seen] = [0, 0, 0];
  for await (const piece of pieces) {
    const size = end - start;
    if (size === 0) room = piece;
    else {
      if (room.length - end < piece.length) {
        // Doubled, so that many small pieces are not copied again and again.
        const larger = Buffer.allocUnsafe(Math.max(2 * size, size + piece.length));
        room.copy(larger, 0, start, end);
        room = larger;
        start = 0;
      }
      piece.copy(room, start + size);
    }
    if (size === 0) start = 0;
    end = start + size + piece.length;
    for (;;) {
      const bytes = room.subarray(start, end);
      const length = cut(bytes, seen);
      if ((length ?? bytes.length) > limit) throw bodyTooLarge(limit);
      if (length === undefined || length > bytes.length) {
        seen = bytes.length;
        break;
      }
      yield bytes.subarray(0, length);
      pieces.release(length);
      start += length;
      seen = 0;
    }
  }
  if (end > start) yield room.subarray(start, end);
}
