import { Agent, type ClientRequest } from "node:http";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Where connections are read into that Node's parser listens to: it copies what it takes at once. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);
/** How much of a long reply is read at once, in bytes. */
const ROOM = 2 * 1024 * 1024;
/** Pieces of a reply that are written at one time; one more is read meanwhile. */
const WRITTEN = 2;
/** Long replies that are read so at one time: each takes three rooms. */
const LONG_READS = 4;

/** Says that bytes are written, or why they never will be. */
export type Done = (error?: Error | null) => void;

/** How a connection is read. */
interface Reading {
  readonly agent: ReadingAgent;
  /** Where it is read into. */
  room: Buffer<ArrayBuffer>;
  /** Takes what comes in the place of Node's parser. */
  taker: ((bytes: Buffer) => void) | undefined;
}

const readings = new WeakMap<Duplex, Reading>();

/**
 * Keeps connections, whose bytes are read into memory that is used again: a new buffer for each read
 * costs as much as the read.
 */
export class ReadingAgent extends Agent {
  /** Long replies that may still be taken: see takeReads. */
  longReads = LONG_READS;
  /** Memory for them that is free: left to the garbage collector, each would leave its own behind. */
  readonly rooms: Buffer<ArrayBuffer>[] = [];

  override createConnection(options: NetConnectOpts): Socket {
    // Elsewhere the memory of a read is given before there is something to read.
    if (process.platform === "win32") return connect(options);
    const reading: Reading = { agent: this, room: shared, taker: undefined };
    const onread = {
      buffer: () => reading.room,
      callback: (length: number, room: Uint8Array) => {
        const bytes = (room as Buffer).subarray(0, length);
        if (reading.taker !== undefined) reading.taker(bytes);
        // What comes when nothing was asked for would be the next reply.
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
 * Takes a connection from Node's parser, which copies everything, at the event `response`: its bytes
 * after this turn go to a function, in memory that stays as it is until that says that it is done with
 * it. While nothing is free the connection is paused.
 *
 * @returns the connection; undefined where it is none of a ReadingAgent, or where as many as may be are
 *   read so: stalled clients hold no more than that.
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
    // Node's own reader of the reply may resume a connection: it finds memory that nothing else uses.
    reading.room = free.pop() ?? take();
    written += 1;
    if (written >= WRITTEN) socket.pause();
    taker(bytes, (error) => {
      // What was not written may still be held by the client's connection.
      if (!error) free.push(room);
      written -= 1;
      if (written < WRITTEN && !socket.destroyed) socket.resume();
      leave();
    });
  };
  return socket;
}
