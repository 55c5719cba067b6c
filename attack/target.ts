import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Writable } from "node:stream";

/** What an attacker knows. */
export interface Target {
  /** Of 127.0.0.1; nothing else is ever attacked. */
  readonly port: number;
  /** The admin token; undefined: the attacker has none. */
  readonly token?: string;
  /** For all that is random. */
  readonly seed: number;
}

/** How often an attacker did what, for the report. */
export type Tally = Record<string, number>;

export function add(tally: Tally, name: string, count = 1): void {
  tally[name] = (tally[name] ?? 0) + count;
}

/**
 * Attacks until the signal, or until it has done all that it does, and leaves then. What it opens is
 * closed with its process.
 */
export type Attack = (
  target: Target,
  signal: AbortSignal,
  /** Says what comes next, so that what it does to the server can be told from the rest. */
  begin: (part: string) => void,
) => Promise<Tally>;

/** A plain connection that nobody reads errors of. */
export async function dial({ port }: Target): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", resolve));
  return socket;
}

/** Writes and waits until there is room again; false when it is gone, or the attack is over. */
export async function writeAll(
  stream: Writable,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  if (stream.destroyed || signal.aborted) return false;
  if (stream.write(bytes)) return true;
  const over = new AbortController();
  const both = AbortSignal.any([over.signal, signal]);
  const waits = ["drain", "close"].map((event) => once(stream, event, { signal: both }));
  await Promise.race(waits).catch(() => undefined);
  over.abort();
  await Promise.allSettled(waits);
  return !stream.destroyed && !signal.aborted;
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/** Repeatable random numbers from 0 to 1 (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
