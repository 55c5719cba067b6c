import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  fields as fieldsOf,
  frame,
  PREFACE,
  uint32,
} from "../../../bench/frame.ts";
import { dial, type Line } from "./line.ts";

export { END_STREAM, FRAME };

/** Longest payload of a frame without a setting for it. */
const MAX_FRAME = 16_384;

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
    const block = fieldsOf(fields);
    for (let start = 0; start < block.length; start += MAX_FRAME) {
      const ended = start + MAX_FRAME >= block.length ? END_HEADERS : 0;
      const part = block.subarray(start, start + MAX_FRAME);
      const [kind, flags] =
        start === 0 ? [FRAME.headers, end ? END_STREAM : 0] : [FRAME.continuation, 0];
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
