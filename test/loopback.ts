import { createServer as createHttp, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A small server of one test, closed at its end. */
export interface Loopback {
  readonly port: number;
  /** Resolves as soon as no client is connected. */
  readonly idle: () => Promise<void>;
  /** Closes it before the end of the test. */
  readonly stop: () => Promise<void>;
}

/** Serves HTTP on a free port of an address. */
export async function serveHttp(listener: RequestListener, host?: string): Promise<Loopback> {
  return await serve(createHttp(listener), host);
}

/** Serves raw bytes that the test writes to the socket, on a free port of an address. */
export async function serveTcp(
  listener: (socket: Socket) => void,
  host?: string,
): Promise<Loopback> {
  return await serve(
    createTcp((socket) => {
      socket.on("error", () => {});
      socket.resume();
      listener(socket);
    }),
    host,
  );
}

/** Starts a server of `node:http` or `node:net` on a free port of an address. */
export async function serve(server: Server, host = "127.0.0.1"): Promise<Loopback> {
  const open = new Set<Socket>();
  let waiting: (() => void) | undefined;
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (open.size === 0) waiting?.();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, host, resolve);
  });
  const stop = async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  return {
    port: (server.address() as AddressInfo).port,
    stop,
    idle: () =>
      new Promise((resolve) => {
        waiting = resolve;
        if (open.size === 0) resolve();
      }),
  };
}
