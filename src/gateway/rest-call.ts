import type { IncomingMessage, ServerResponse } from "node:http";
import type { Call, HeaderReader } from "../rpc/method.ts";
import { plainAddress } from "../rpc/peer.ts";

/**
 * One REST request as the rpcs see it. A class, because one is made per request: headers, address
 * and signal are looked at only when somebody asks, and nothing is copied.
 */
export class RestCall implements Call, HeaderReader {
  readonly door = "rest";
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly #stopping: AbortSignal | undefined;
  #signal: AbortSignal | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    stopping: AbortSignal | undefined,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.#stopping = stopping;
  }

  get header(): HeaderReader {
    return this;
  }

  get(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get peer(): string {
    return plainAddress(this.request.socket.remoteAddress);
  }

  get signal(): AbortSignal {
    this.#signal ??= watchConnection(this.response, this.#stopping);
    return this.#signal;
  }
}

/** Whether nobody is left to read a reply. The response of an HTTP/2 stream doesn't say so itself. */
export function isGone(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { readonly destroyed: boolean } };
  return response.destroyed || stream?.destroyed === true;
}

function watchConnection(response: ServerResponse, stopping: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!response.writableFinished) controller.abort(new Error("the client went away"));
  };
  if (isGone(response)) abort();
  else response.once("close", abort);
  return stopping ? AbortSignal.any([controller.signal, stopping]) : controller.signal;
}
