import type { ServerHttp2Session } from "node:http2";

/** Time between an answered ping and the next one, in milliseconds. */
const INTERVAL = 60_000;
/** Time limit of the answer, in milliseconds. */
const PATIENCE = 20_000;

/**
 * Closes an HTTP/2 connection whose client has vanished without closing it: it does not answer a ping
 * (RFC 9113, section 6.7).
 */
export function keepAlive(
  session: ServerHttp2Session,
  { interval = INTERVAL, patience = PATIENCE } = {},
): void {
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(ask, interval).unref();
  };
  const ask = (): void => {
    timer = setTimeout(() => session.destroy(), patience).unref();
    session.ping((error) => {
      clearTimeout(timer);
      if (error === null) wait();
      else session.destroy();
    });
  };
  session.once("close", () => clearTimeout(timer));
  wait();
}
