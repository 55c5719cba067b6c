import type { Readable, Writable } from "node:stream";
import { release } from "../transport/release.ts";

/**
 * Writes all that one stream gives to another one, at the pace of that one's reader, and ends it
 * then.
 *
 * The memory of each piece is given back as soon as it was written. Left to the garbage collector,
 * which sees little of what stands outside of its own heap, a long transfer holds a hundred
 * megabytes of it.
 *
 * @returns a function that ends this: what is still to come is left to whoever reads on.
 */
export function pump(from: Readable, to: Writable): () => void {
  const onData = (piece: Buffer): void => {
    const goesOn = to.write(piece, (error) => {
      // What was not written may still be held by somebody.
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
