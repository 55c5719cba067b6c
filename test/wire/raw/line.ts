import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A raw TCP connection that a test writes byte by byte, and can break off. */
export interface Line {
  readonly socket: Socket;
  /** All bytes received so far. */
  readonly received: () => Buffer;
  /** Resolves as soon as the received bytes satisfy the predicate. */
  readonly until: (enough: (received: Buffer) => boolean) => Promise<Buffer>;
  /** Resolves with all received bytes when the connection has ended. */
  readonly closed: Promise<Buffer>;
}

/**
 * Opens a connection that ends with the test.
 *
 * @param from its source address: all of 127.0.0.0/8 is this machine.
 */
export function dial(port: number, from = "127.0.0.1"): Promise<Line> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  onTestFinished(() => void socket.destroy());
  return lineOf(socket);
}

/** A connection that the caller ends, for use outside of tests. */
export function openLine(port: number): Promise<Line> {
  return lineOf(connect({ port, host: "127.0.0.1" }));
}

async function lineOf(socket: Socket): Promise<Line> {
  socket.setNoDelay();
  let bytes = Buffer.alloc(0);
  const waiting = new Set<() => void>();
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (const check of waiting) check();
  });
  // A connection that is cut may end with a reset.
  socket.on("error", () => undefined);
  const closed = new Promise<Buffer>((resolve) => socket.on("close", () => resolve(bytes)));
  await once(socket, "connect");
  const until = (enough: (received: Buffer) => boolean): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (!enough(bytes)) return;
        waiting.delete(check);
        resolve(bytes);
      };
      waiting.add(check);
      void closed.then(() => {
        check();
        reject(new Error(`the connection has ended after ${JSON.stringify(bytes.toString())}`));
      });
      check();
    });
  return { socket, received: () => bytes, until, closed };
}

/** Sends bytes, and reads until the other side has ended, or a text has arrived. */
export async function exchange(
  port: number,
  parts: readonly (string | Buffer)[],
  until?: string,
): Promise<string> {
  const { socket, received, until: reads, closed } = await dial(port);
  for (const part of parts) socket.write(part);
  await (until === undefined ? closed : reads((bytes) => bytes.includes(until)));
  socket.destroy();
  return received().toString("latin1");
}
