import { Code, ConnectError } from "@connectrpc/connect";
import type { Call } from "./call.ts";

/** Calls that end with the server: each is aborted when the server shuts down. */
export class Shutdown {
  readonly #calls = new Set<Call>();
  #reason: ConnectError | undefined;

  /** Aborts all calls, and each that begins later. */
  abort(reason: unknown): void {
    this.#reason ??= toShutdownError(reason);
    for (const call of this.#calls) call.abort(this.#reason);
    this.#calls.clear();
  }

  add(call: Call): void {
    call.endWithServer();
    if (this.#reason === undefined) this.#calls.add(call);
    else call.abort(this.#reason);
  }

  delete(call: Call): void {
    this.#calls.delete(call);
  }
}

/** The shutdown of a signal. */
export function shutdownOf(signal: AbortSignal): Shutdown {
  const shutdown = new Shutdown();
  const abort = (): void => shutdown.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return shutdown;
}

function toShutdownError(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const message = "the server is shutting down";
  return new ConnectError(message, Code.Unavailable, undefined, undefined, reason);
}
