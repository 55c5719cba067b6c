import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A TCP connection that a test writes to byte by byte, and breaks off as it likes. */
export interface Line {
  readonly socket: Socket;
  /** All that was received so far. */
  readonly received: () => Buffer;
  /** Resolves as soon as what was received satisfies the test. */
  readonly until: (enough: (received: Buffer) => boolean) => Promise<Buffer>;
  /** Resolves with all that was received, when the connection has ended. */
  readonly closed: Promise<Buffer>;
}

/**
 * Opens a connection that ends with the test.
 *
 * @param from the address that it comes from: all of 127.0.0.0/8 is this machine.
 */
export async function dial(port: number, from = "127.0.0.1"): Promise<Line> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  socket.setNoDelay();
  onTestFinished(() => void socket.destroy());
  let bytes = Buffer.alloc(0);
  const waiting = new Set<() => void>();
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (const look of waiting) look();
  });
  // A connection that is cut may end with a reset.
  socket.on("error", () => undefined);
  const closed = new Promise<Buffer>((resolve) => socket.on("close", () => resolve(bytes)));
  await once(socket, "connect");
  const until = (enough: (received: Buffer) => boolean): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!enough(bytes)) return;
        waiting.delete(look);
        resolve(bytes);
      };
      waiting.add(look);
      void closed.then(() => {
        look();
        reject(new Error(`the connection has ended after ${JSON.stringify(bytes.toString())}`));
      });
      look();
    });
  return { socket, received: () => bytes, until, closed };
}
