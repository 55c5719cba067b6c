import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Ports below those that Linux assigns to connections and to listeners without a port (32768 to 60999). */
const PORTS = [10_000, 32_768] as const;

/**
 * Returns a port of 127.0.0.1 without a listener. No connection of another program gets it by chance
 * before the program listens for which it is meant.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Reports whether a program listens on this port of 127.0.0.1. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

/**
 * Polls a condition until it is true.
 *
 * @param interval polling interval in milliseconds, 10 by default. @param patience time limit in
 *   milliseconds, 20,000 by default.
 * @throws Error with `failure()` as its message after the time limit.
 */
export async function until(
  question: () => Promise<boolean>,
  failure: () => string,
  { interval = 10, patience = 20_000 } = {},
): Promise<void> {
  const giveUp = performance.now() + patience;
  while (!(await question())) {
    if (performance.now() > giveUp) throw new Error(failure());
    await sleep(interval);
  }
}
