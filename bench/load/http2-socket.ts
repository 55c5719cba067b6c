// Longer than other files: one client, half of which is the frame layout of RFC 9113.
import { connect } from "node:net";

/**
 * HTTP/2 client that takes a few microseconds per call, so that a load generator on one core can
 * saturate a server on another. It speaks plain HTTP/2 with prior knowledge, sends the same request
 * headers on every stream and does not read reply headers.
 */
export interface Http2Socket {
  /** Opens a stream with this body and ends the sending side; returns the stream's number. */
  send(body: Buffer): number;
  /** Stops reading, like a hanging client. */
  pause(): void;
  close(): void;
}

/** Events of the connection. */
export interface Http2Listener {
  /** Called with bytes of a reply. */
  data(stream: number, body: Buffer): void;
  /** Called at the end of a reply; `reset` when the server aborted it. */
  end(stream: number, reset: boolean): void;
  /** Called when the connection is closed. */
  close(reason: string): void;
}

/** Frame types (RFC 9113, section 6). */
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;
const FRAME_HEAD = 9;
const LARGEST_WINDOW = 0x7fffffff;
const DEFAULT_WINDOW = 0xffff;

/** Connects to 127.0.0.1. @param head fields of the request, pseudo-header fields first. */
export async function openHttp2Socket(
  port: number,
  head: readonly (readonly [string, string])[],
  listener: Http2Listener,
): Promise<Http2Socket> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.write(preface());
  socket.on("error", (error) => listener.close(error.message));
  socket.on("close", () => listener.close("the server closed the connection"));
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = readFrames(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), (frame) =>
      handle(frame, listener, (reply) => socket.write(reply)),
    );
  });
  const block = headBlock(head);
  let next = 1;
  return {
    send: (body) => {
      const stream = next;
      next += 2;
      socket.write(
        Buffer.concat([
          frameOf(HEADERS, END_HEADERS, stream, block),
          frameOf(DATA, END_STREAM, stream, body),
        ]),
      );
      return stream;
    },
    pause: () => socket.pause(),
    close: () => {
      socket.removeAllListeners("close");
      socket.destroy();
    },
  };
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

function handle(frame: Frame, listener: Http2Listener, write: (reply: Buffer) => void): void {
  const { type, flags, stream, payload } = frame;
  if (type === DATA && payload.length > 0) {
    if ((flags & PADDED) !== 0) throw new Error("padded frames are not expected here");
    listener.data(stream, payload);
  }
  if (type === SETTINGS && (flags & ACK) === 0) write(frameOf(SETTINGS, ACK, 0));
  if (type === PING && (flags & ACK) === 0) write(frameOf(PING, ACK, 0, payload));
  if (type === GOAWAY) listener.close("the server said GOAWAY");
  if (type === RST_STREAM) listener.end(stream, true);
  if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0)
    listener.end(stream, false);
}

/** Passes complete frames on and returns the rest. */
function readFrames(buffer: Buffer, take: (frame: Frame) => void): Buffer {
  let at = 0;
  while (buffer.length - at >= FRAME_HEAD) {
    const end = at + FRAME_HEAD + buffer.readUIntBE(at, 3);
    if (end > buffer.length) break;
    take({
      type: buffer.readUInt8(at + 3),
      flags: buffer.readUInt8(at + 4),
      stream: buffer.readUInt32BE(at + 5),
      payload: buffer.subarray(at + FRAME_HEAD, end),
    });
    at = end;
  }
  return buffer.subarray(at);
}

/** Connection preface (section 3.4) with a maximum flow-control window. */
function preface(): Buffer {
  const settings = Buffer.alloc(18);
  const values = [
    [1, 0], // SETTINGS_HEADER_TABLE_SIZE
    [2, 0], // SETTINGS_ENABLE_PUSH
    [4, LARGEST_WINDOW], // SETTINGS_INITIAL_WINDOW_SIZE
  ] as const;
  for (const [index, [id, value]] of values.entries()) {
    settings.writeUInt16BE(id, index * 6);
    settings.writeUInt32BE(value, index * 6 + 2);
  }
  const window = Buffer.alloc(4);
  window.writeUInt32BE(LARGEST_WINDOW - DEFAULT_WINDOW);
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
    frameOf(SETTINGS, 0, 0, settings),
    frameOf(WINDOW_UPDATE, 0, 0, window),
  ]);
}

function frameOf(type: number, flags: number, stream: number, payload?: Buffer): Buffer {
  const length = payload?.length ?? 0;
  const frame = Buffer.allocUnsafe(FRAME_HEAD + length);
  frame.writeUIntBE(length, 0, 3);
  frame.writeUInt8(type, 3);
  frame.writeUInt8(flags, 4);
  frame.writeUInt32BE(stream, 5);
  payload?.copy(frame, FRAME_HEAD);
  return frame;
}

/** Literal fields without indexing and Huffman coding (RFC 7541, section 6.2.2). */
function headBlock(head: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    head.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  );
}

/** Length with a prefix of seven bits (RFC 7541, section 5.1), then the text. */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let left = bytes.length - 127;
    for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128);
    length.push(left);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/**
 * Fields of a gRPC request over plain HTTP/2, pseudo-header fields first (gRPC over HTTP/2,
 * Requests).
 */
export function grpcHead(
  port: number,
  path: string,
  token?: string,
): readonly (readonly [string, string])[] {
  return [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", `127.0.0.1:${port}`],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...(token === undefined ? [] : [["authorization", token] as const]),
  ];
}
