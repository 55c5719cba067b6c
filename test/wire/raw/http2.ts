import { dial, type Line } from "./line.ts";

/** Kinds of frames (RFC 9113, section 6). */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;

const CONTINUATION = 9;
/** Longest payload of a frame without a setting for it. */
const MAX_FRAME = 16_384;

/** Flag of the frame that ends a stream. */
export const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const ACK = 0x1;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A frame as it was received. */
export interface Frame {
  readonly kind: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/**
 * An HTTP/2 client that writes raw frames and sends none automatically: a library ends a stream
 * before it resets it, which would complete the request.
 */
export class RawHttp2 {
  readonly line: Line;
  #pings = 0;

  private constructor(line: Line) {
    this.line = line;
  }

  static async open(port: number): Promise<RawHttp2> {
    const line = await dial(port);
    line.socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));
    const raw = new RawHttp2(line);
    await raw.until(({ kind, flags }) => kind === FRAME.settings && flags === 0);
    line.socket.write(frame(FRAME.settings, ACK, 0));
    return raw;
  }

  headers(stream: number, fields: Readonly<Record<string, string>>, end = false): void {
    const block = Buffer.concat(Object.entries(fields).map(([name, value]) => field(name, value)));
    for (let start = 0; start < block.length; start += MAX_FRAME) {
      const ended = start + MAX_FRAME >= block.length ? END_HEADERS : 0;
      const part = block.subarray(start, start + MAX_FRAME);
      const [kind, flags] = start === 0 ? [FRAME.headers, end ? END_STREAM : 0] : [CONTINUATION, 0];
      this.line.socket.write(frame(kind, flags | ended, stream, part));
    }
  }

  data(stream: number, bytes: Buffer, end = false): void {
    this.line.socket.write(frame(FRAME.data, end ? END_STREAM : 0, stream, bytes));
  }

  reset(stream: number, code: number): void {
    this.line.socket.write(frame(FRAME.reset, 0, stream, uint32(code)));
  }

  goaway(): void {
    this.line.socket.write(frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(0), uint32(0)])));
  }

  /** Resolves when the server has read all sent bytes. */
  async settled(): Promise<void> {
    this.#pings += 1;
    const word = Buffer.concat([uint32(0), uint32(this.#pings)]);
    this.line.socket.write(frame(FRAME.ping, 0, 0, word));
    await this.until(
      ({ kind, flags, payload }) => kind === FRAME.ping && flags === ACK && payload.equals(word),
    );
  }

  /** The first matching frame. */
  async frame(isWanted: (frame: Frame) => boolean): Promise<Frame> {
    const found = framesOf(await this.until(isWanted)).find(isWanted);
    if (found === undefined) throw new Error("the frame is gone");
    return found;
  }

  until(isWanted: (frame: Frame) => boolean): Promise<Buffer> {
    return this.line.until((received) => framesOf(received).some(isWanted));
  }
}

/** The complete frames of the received bytes. */
export function framesOf(received: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= received.length; ) {
    const length = received.readUIntBE(at, 3);
    if (at + 9 + length > received.length) break;
    frames.push({
      kind: received.readUInt8(at + 3),
      flags: received.readUInt8(at + 4),
      stream: received.readUInt32BE(at + 5),
      payload: received.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

function frame(
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

/** A literal field that is not indexed, with its name (RFC 7541, section 6.2.2). */
function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** An integer with a prefix of 7 bits (RFC 7541, section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
