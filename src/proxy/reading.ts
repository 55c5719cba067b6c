import { Agent, type ClientRequest } from "node:http";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Buffer of connections read by Node's parser, which copies its part at once. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);
/** Size of a read of a long reply, in bytes. */
const ROOM = 2 * 1024 * 1024;
/** Pieces of a reply that are written at one time; one more is read meanwhile. */
const WRITTEN = 2;
/** Maximum number of long replies that are read this way at one time: each takes three buffers. */
const LONG_READS = 4;

/** Callback when bytes are written, or with the error. */
export type Done = (error?: Error | null) => void;

/** Reading state of a connection. */
interface Reading {
  readonly agent: ReadingAgent;
  /** Target buffer of reads. */
  room: Buffer<ArrayBuffer>;
  /** Receiver of the bytes instead of Node's parser. */
  taker: ((bytes: Buffer) => void) | undefined;
}

const readings = new WeakMap<Duplex, Reading>();

/**
 * Agent whose connections are read into reused memory: a new buffer for each read costs as much as
 * the read.
 */
export class ReadingAgent extends Agent {
  /** Number of long replies that may still be taken: see takeReads. */
  longReads = LONG_READS;
  /** Free memory for long replies, reused because the garbage collector would release it late. */
  readonly rooms: Buffer<ArrayBuffer>[] = [];

  override createConnection(options: NetConnectOpts): Socket {
    // On Windows, the memory of a read is allocated before data arrives.
    if (process.platform === "win32") return connect(options);
    const reading: Reading = { agent: this, room: shared, taker: undefined };
    const onread = {
      buffer: () => reading.room,
      callback: (length: number, room: Uint8Array) => {
        const bytes = (room as Buffer).subarray(0, length);
        if (reading.taker !== undefined) reading.taker(bytes);
        // Unrequested data would become the next reply.
        else if (!socket.emit("data", bytes)) socket.destroy();
        return true;
      },
    };
    const socket = connect({ ...options, onread });
    readings.set(socket, reading);
    return socket;
  }
}

/**
 * Takes a connection from Node's parser at the event `response`: its bytes after this tick go to a
 * function, in memory that stays unchanged until the function has finished with it. While no memory
 * is free the connection is paused.
 *
 * @returns the connection; undefined if it does not belong to a ReadingAgent, or at the maximum
 * number of such connections, which bounds stalled clients.
 */
export function takeReads(
  call: ClientRequest,
  taker: (bytes: Buffer, done: Done) => void,
): Socket | undefined {
  const { socket } = call;
  const reading = socket === null ? undefined : readings.get(socket);
  if (socket === null || reading === undefined || reading.agent.longReads === 0) return undefined;
  const { agent } = reading;
  const take = (): Buffer<ArrayBuffer> => agent.rooms.pop() ?? Buffer.allocUnsafeSlow(ROOM);
  const free: Buffer<ArrayBuffer>[] = [];
  agent.longReads -= 1;
  reading.room = take();
  let written = 0;
  let isClosed = false;
  const leave = (): void => {
    if (written > 0 || !isClosed) return;
    agent.longReads += 1;
    agent.rooms.push(reading.room, ...free);
  };
  socket.once("close", () => {
    isClosed = true;
    leave();
  });
  reading.taker = (bytes) => {
    const { room } = reading;
    // Node's own reader of the reply may resume a connection: the memory must be unused then.
    reading.room = free.pop() ?? take();
    written += 1;
    if (written >= WRITTEN) socket.pause();
    taker(bytes, (error) => {
      // An unwritten buffer may still be referenced by the client's connection.
      if (!error) free.push(room);
      written -= 1;
      if (written < WRITTEN && !socket.destroyed) socket.resume();
      leave();
    });
  };
  return socket;
}
