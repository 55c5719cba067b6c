import type { Writable } from "node:stream";

/** Bounds of what waits for clients that read slowly. */
export interface SlowReaderBounds {
  /** Bytes that may wait, of all streams together. */
  readonly together: number;
  /** How long a stream may take nothing at all, in milliseconds. */
  readonly patienceMs: number;
}

/** A stream whose client has not read yet what was written to it. */
interface Blocked {
  readonly bytes: number;
  drop(): void;
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
      bytes,
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
}
