import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns a free TCP port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return address.port;
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
