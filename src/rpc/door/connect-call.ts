import type { IncomingMessage, ServerResponse } from "node:http";
import type { Call, HeaderReader } from "../method.ts";
import { plainAddress } from "../peer.ts";

/**
 * A Connect call as the interceptors see it. A class, because one is made for each call: what most
 * calls do not ask for is made when it is asked for.
 */
export class ConnectCall implements Call, HeaderReader {
  readonly door = "connect";
  readonly requestId: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.#request = request;
    this.#response = response;
    this.requestId = requestId;
  }

  get header(): HeaderReader {
    return this;
  }

  get(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get peer(): string {
    return plainAddress(this.#request.socket.remoteAddress);
  }

  get signal(): AbortSignal {
    this.#signal ??= abortOnClose(this.#response);
    return this.#signal;
  }
}

/** A connection that closes before the reply has begun: nobody waits for it any more. */
function abortOnClose(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!response.headersSent) controller.abort();
  };
  if (response.destroyed) abort();
  else response.once("close", abort);
  return controller.signal;
}
