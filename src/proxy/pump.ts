import type { Readable, Writable } from "node:stream";
import { release } from "../transport/release.ts";

/**
 * Writes one stream to another with backpressure, then ends it.
 *
 * The memory of each piece is released as soon as it is written: the garbage collector accounts for
 * little memory outside of its heap, and a long transfer would hold a hundred megabytes.
 *
 * @returns a function that stops it; the rest is left to another reader.
 */
export function pump(from: Readable, to: Writable): () => void {
  const onData = (piece: Buffer): void => {
    const goesOn = to.write(piece, (error) => {
      // An unwritten piece may still be referenced.
      if (!error) release(piece);
    });
    if (!goesOn) from.pause();
  };
  const onDrain = (): void => void from.resume();
  const onEnd = (): void => void to.end();
  const stop = (): void => {
    from.off("data", onData).off("end", onEnd).pause();
    to.off("drain", onDrain).off("close", stop);
  };
  to.on("drain", onDrain).on("close", stop);
  from.on("data", onData).on("end", onEnd);
  return stop;
}
