// Raw HTTP/2 frames: a library would not send invalid ones.
import { connect, type Socket } from "node:net";
import type { Target } from "./target.ts";

/** Kinds of frames (RFC 9113, section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  window: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const LARGEST_WINDOW = 2 ** 31 - 1;

/**
 * Opens a connection with its preface and an unlimited flow-control window. It never answers by
 * itself.
 */
export async function openRaw({ port }: Target): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined).resume();
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", resolve));
  const settings = Buffer.alloc(6);
  settings.writeUInt16BE(4, 0); // SETTINGS_INITIAL_WINDOW_SIZE
  settings.writeUInt32BE(LARGEST_WINDOW, 2);
  const window = uint32(LARGEST_WINDOW - 65_535);
  socket.write(
    Buffer.concat([
      PREFACE,
      frame(FRAME.settings, 0, 0, settings),
      frame(FRAME.window, 0, 0, window),
    ]),
  );
  return socket;
}

export function frame(
  kind: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.of(),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields without indexing (RFC 7541, section 6.2.2). */
export function fields(all: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(all).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]),
  );
}

/** Header fields of a request over plain HTTP/2. */
export function request(
  path: string,
  more: Readonly<Record<string, string>> = {},
  method = "POST",
): Record<string, string> {
  return { ":method": method, ":scheme": "http", ":authority": "x", ":path": path, ...more };
}

/** Encodes a text with its length (RFC 7541, sections 5.1 and 5.2). */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let left = bytes.length - 127;
    for (; left >= 128; left >>= 7) length.push((left & 127) | 128);
    length.push(left);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
