import { Code, ConnectError } from "@connectrpc/connect";

/** At most eight digits and a unit (gRPC over HTTP/2, "Timeout"). */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
/** Milliseconds of each unit. */
const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};
/** Longest time that a timer of Node can wait, in milliseconds. */
const MAX_TIME = 2 ** 31 - 1;

/** The time limit in a `grpc-timeout` header, in milliseconds; undefined when it is none. */
export function readTimeout(header: string): number | undefined {
  const [, digits, unit = ""] = TIMEOUT.exec(header) ?? [];
  return digits === undefined ? undefined : Math.min(Number(digits) * (UNITS[unit] ?? 1), MAX_TIME);
}

/**
 * What a call gives, or DEADLINE_EXCEEDED when it is not there in time.
 *
 * @param left milliseconds from now.
 * @param call aborted when the time is over.
 */
export function withTimeout<T>(
  reply: Promise<T>,
  left: number,
  call: { abort(reason: ConnectError): void },
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => {
    const late = new ConnectError("the call's time limit is over", Code.DeadlineExceeded);
    call.abort(late);
    reject(late);
  }, left);
  reply.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
