import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { pathOf } from "../call.ts";
import { FRAME, frame, PREFACE, uint32 } from "../frame.ts";

/** Target of an attack. */
export interface Target {
  /** Port of 127.0.0.1, the only address that is attacked. */
  readonly port: number;
  /** Admin token; empty: none. */
  readonly token: string;
  /** Seed of random values. */
  readonly seed: number;
  /** Whether the attack is a short one. */
  readonly quick: boolean;
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

const LARGEST_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;
/** SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113, section 6.5.2). */
const WINDOW_OF_STREAMS = Buffer.from([0, 4]);

/**
 * Opens a connection with its preface and an unlimited flow-control window. It never answers by
 * itself.
 */
export async function openRaw(target: Target): Promise<Socket> {
  const socket = await dial(target);
  socket.resume();
  const windows = Buffer.concat([WINDOW_OF_STREAMS, uint32(LARGEST_WINDOW)]);
  socket.write(PREFACE);
  socket.write(frame(FRAME.settings, 0, 0, windows));
  socket.write(frame(FRAME.window, 0, 0, uint32(LARGEST_WINDOW - DEFAULT_WINDOW)));
  return socket;
}

/** The watch that needs no token. */
export const WATCH = pathOf(PublicService.method.watchPublicSettings);
export const GRPC = { "content-type": "application/grpc", te: "trailers" };

/** Header fields of a request over plain HTTP/2. */
export function request(
  path: string,
  more: Readonly<Record<string, string>> = {},
  method = "POST",
): Record<string, string> {
  return { ":method": method, ":scheme": "http", ":authority": "x", ":path": path, ...more };
}

/** A mount of a save. @param bytes size of its text. */
export function mountOf(name: string, at: number, bytes: number): object {
  return {
    name: `${name}_${at}`,
    mount_path: `/${name}/${at}`,
    driver: "Local",
    config: { root_folder_path: "/" },
    members: { remark: "v".repeat(bytes) },
  };
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
