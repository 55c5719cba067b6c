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

/** Start of a connection, before its first frame (section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(
  kind: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields without indexing and Huffman coding (RFC 7541, section 6.2.2). */
export function fields(all: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(all).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]),
  );
}

/** Encodes a text with its length, an integer with a prefix of 7 bits (RFC 7541, sections 5.1 and 5.2). */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = [Math.min(bytes.length, 127)];
  if (bytes.length >= 127) {
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
