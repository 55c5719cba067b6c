import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A TCP port of 127.0.0.1 that nothing listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return address.port;
}

/** Whether something on 127.0.0.1 takes a connection on this port. */
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
 * Asks again every few milliseconds until the answer is yes.
 *
 * @param interval milliseconds between two questions, 10 by default.
 * @param patience milliseconds to go on for, 20,000 by default.
 * @throws Error with `failure()` as its message when the patience ends.
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
