import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc-web";
import type { Call } from "./call.ts";

/** Longest time limit that a client may ask for, in milliseconds. */
export const MAX_TIME = 24 * 60 * 60 * 1_000;

/**
 * Sets the deadline of a REST call from the first of these headers: `grpc-timeout` (gRPC over
 * HTTP/2), `connect-timeout-ms` (Connect protocol) or `x-server-timeout` (seconds, also
 * fractional).
 *
 * @throws INVALID_ARGUMENT for an invalid header.
 */
export function limitRestTime(call: Call): void {
  const grpc = call.header("grpc-timeout");
  const connect = call.header("connect-timeout-ms");
  const seconds = call.header("x-server-timeout");
  if (grpc !== undefined) limit(call, parseGrpcTimeout(grpc, MAX_TIME));
  else if (connect !== undefined) limit(call, parseConnectTimeout(connect, MAX_TIME));
  else if (seconds !== undefined) limit(call, parseSeconds(seconds));
}

interface Parsed {
  readonly timeoutMs?: number | undefined;
  readonly error?: ConnectError | undefined;
}

function limit(call: Call, { timeoutMs, error }: Parsed): void {
  if (error !== undefined) throw error;
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function parseSeconds(text: string): Parsed {
  const timeoutMs = /^\d{1,8}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1_000 : Number.NaN;
  if (timeoutMs <= MAX_TIME) return { timeoutMs };
  return { error: new ConnectError("x-server-timeout: give seconds", Code.InvalidArgument) };
}
