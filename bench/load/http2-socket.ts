import { connect } from "node:net";
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  FRAME_HEAD,
  fields,
  frame,
  preface,
} from "./frame.ts";

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
interface Http2Listener {
  /** Called with bytes of a reply. */
  data(stream: number, body: Buffer): void;
  /** Called at the end of a reply; `reset` when the server aborted it. */
  end(stream: number, reset: boolean): void;
  /** Called when the connection is closed. */
  close(reason: string): void;
}

const PADDED = 8;

/** Connects to 127.0.0.1. @param head fields of the request, pseudo-header fields first. */
export async function openHttp2Socket(
  port: number,
  head: Readonly<Record<string, string>>,
  listener: Http2Listener,
): Promise<Http2Socket> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  // SETTINGS_HEADER_TABLE_SIZE and SETTINGS_ENABLE_PUSH.
  socket.write(preface([1, 0], [2, 0]));
  socket.on("error", (error) => listener.close(error.message));
  socket.on("close", () => listener.close("the server closed the connection"));
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = readFrames(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), (one) =>
      handle(one, listener, (reply) => socket.write(reply)),
    );
  });
  const block = fields(head);
  let next = 1;
  return {
    send: (body) => {
      const stream = next;
      next += 2;
      socket.write(
        Buffer.concat([
          frame(FRAME.headers, END_HEADERS, stream, block),
          frame(FRAME.data, END_STREAM, stream, body),
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

function handle(
  { type, flags, stream, payload }: Frame,
  listener: Http2Listener,
  write: (reply: Buffer) => void,
): void {
  if (type === FRAME.data && payload.length > 0) {
    if ((flags & PADDED) !== 0) throw new Error("padded frames are not expected here");
    listener.data(stream, payload);
  }
  if (type === FRAME.settings && (flags & ACK) === 0) write(frame(FRAME.settings, ACK, 0));
  if (type === FRAME.ping && (flags & ACK) === 0) write(frame(FRAME.ping, ACK, 0, payload));
  if (type === FRAME.goaway) listener.close("the server said GOAWAY");
  if (type === FRAME.reset) listener.end(stream, true);
  if ((type === FRAME.data || type === FRAME.headers) && (flags & END_STREAM) !== 0)
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

/**
 * Fields of a gRPC request over plain HTTP/2, pseudo-header fields first (gRPC over HTTP/2,
 * Requests).
 */
export function grpcHead(
  port: number,
  path: string,
  token?: string,
): Readonly<Record<string, string>> {
  return {
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": `127.0.0.1:${port}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...(token === undefined ? {} : { authorization: token }),
  };
}
