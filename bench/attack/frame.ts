// HTTP/2 frames and header fields as bytes: a library takes longer and sends no invalid ones.

/** Kinds of frames (RFC 9113, section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

export const ACK = 1;
export const END_STREAM = 1;
export const END_HEADERS = 4;
/** Length of the head of a frame, in bytes. */
export const FRAME_HEAD = 9;

const LARGEST_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;

/**
 * Preface of a connection (section 3.4) with a maximum flow-control window.
 *
 * @param more further settings, as their identifiers and values.
 */
export function preface(...more: readonly (readonly [number, number])[]): Buffer {
  // SETTINGS_INITIAL_WINDOW_SIZE.
  const values = [...more, [4, LARGEST_WINDOW] as const];
  const settings = values.map(([id, value]) => Buffer.concat([Buffer.of(0, id), uint32(value)]));
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
    frame(FRAME.settings, 0, 0, Buffer.concat(settings)),
    frame(FRAME.window, 0, 0, uint32(LARGEST_WINDOW - DEFAULT_WINDOW)),
  ]);
}

export function frame(kind: number, flags: number, stream: number, payload?: Buffer): Buffer {
  const length = payload?.length ?? 0;
  const bytes = Buffer.allocUnsafe(FRAME_HEAD + length);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(kind, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  payload?.copy(bytes, FRAME_HEAD);
  return bytes;
}

/** Header fields without indexing and Huffman coding (RFC 7541, section 6.2.2). */
export function fields(all: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(all).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]),
  );
}

/** Encodes a text with its length (RFC 7541, sections 5.1 and 5.2). */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length = [Math.min(bytes.length, 127)];
  if (bytes.length >= 127) length.push(...varint(bytes.length - 127));
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** Groups of seven bits, the lowest first, as in HPACK and protobuf. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return [...bytes, left];
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
