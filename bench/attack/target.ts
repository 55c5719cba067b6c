import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { preface } from "./frame.ts";

/** Target of an attack. */
export interface Target {
  /** Port of 127.0.0.1, the only address that is attacked. */
  readonly port: number;
  /** Admin token; undefined: none. */
  readonly token?: string;
  /** Seed of random values. */
  readonly seed: number;
}

/** Counts of an attacker's actions, for the report. */
export type Tally = Record<string, number>;

export function add(tally: Tally, name: string, count = 1): void {
  tally[name] = (tally[name] ?? 0) + count;
}

/** Attacks until the signal or its own end. Its connections are closed with its process. */
export type Attack = (
  target: Target,
  signal: AbortSignal,
  /** Announces the next part of the attack, to assign measurements to it. */
  begin: (part: string) => void,
) => Promise<Tally>;

/** Opens a plain connection that ignores errors. */
export async function dial({ port }: Target): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", resolve));
  return socket;
}

/**
 * Opens a connection with its preface and an unlimited flow-control window. It never answers by
 * itself.
 */
export async function openRaw(target: Target): Promise<Socket> {
  const socket = await dial(target);
  socket.resume();
  socket.write(preface());
  return socket;
}

/** Header fields of a request over plain HTTP/2. */
export function request(
  path: string,
  more: Readonly<Record<string, string>> = {},
  method = "POST",
): Record<string, string> {
  return { ":method": method, ":scheme": "http", ":authority": "x", ":path": path, ...more };
}

/** Writes, and waits for a drain; false when the connection or the attack has ended. */
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

/** Waits for a time in milliseconds, or until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
