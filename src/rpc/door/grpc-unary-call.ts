import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Call, HeaderReader } from "../method.ts";
import { plainAddress } from "../peer.ts";

/**
 * A call on an HTTP/2 stream as the interceptors see it. A class, because one is made for each call:
 * what most calls do not ask for is made when it is asked for.
 */
export class GrpcUnaryCall implements Call, HeaderReader {
  readonly door = "grpc";
  readonly requestId: string;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  #controller: AbortController | undefined;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    requestId: (sent: string | undefined) => string,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.requestId = requestId(this.get("x-request-id"));
  }

  get header(): HeaderReader {
    return this;
  }

  get(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get signal(): AbortSignal {
    return this.#control().signal;
  }

  get peer(): string {
    return plainAddress(this.#stream.session?.socket.remoteAddress);
  }

  /** Ends what the call still waits for. */
  abort(reason: Error): void {
    this.#control().abort(reason);
  }

  #control(): AbortController {
    this.#controller ??= abortOnReset(this.#stream);
    return this.#controller;
  }
}

/** A stream that closes before its reply has begun was reset by the client, or its connection is gone. */
function abortOnReset(stream: ServerHttp2Stream): AbortController {
  const controller = new AbortController();
  const abort = (): void => {
    if (!stream.headersSent) controller.abort();
  };
  if (stream.closed) abort();
  else stream.once("close", abort);
  return controller;
}
