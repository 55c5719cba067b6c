import type { ContextValues } from "@connectrpc/connect";
import {
  bodyCrowded,
  bodyLate,
  bodyTooLarge,
  Gathered,
  RequestAborted,
  useBody,
} from "../transport/body.ts";
import type { BodyPieces } from "../transport/body-pieces.ts";
import { ConnectDialect } from "./connect.ts";
import { type BodyReading, type Dialect, type Http, type ReplyHeaders, serve } from "./exchange.ts";
import { HttpFault } from "./failure.ts";
import { createPathBelow, type PathBelow } from "./mount-path.ts";
import {
  checkOptions,
  complete,
  type GatewayOptions,
  type Served,
  servedMethods,
} from "./options.ts";
import { RestDialect } from "./rest/rest.ts";
import type { Sink } from "./stream.ts";

/** Services and options of restHandler. */
export interface RestHandlerOptions extends Omit<GatewayOptions, "methods">, Served {
  /**
   * Mount path of the handler, such as `/api`, which the rules do not contain. A segment `:name`
   * stands for any segment. Default: none.
   */
  readonly prefix?: string | undefined;
  /** Id of a request, for logs and the call. Default: a random UUID. */
  readonly requestId?: ((request: Request) => string) | undefined;
  /** IP address of a request's connection, where the runtime has it. Default: unknown. */
  readonly address?: ((request: Request) => string | undefined) | undefined;
  /** Time that a streamed response may wait for its reader, in milliseconds. Default: 30,000. */
  readonly patience?: number | undefined;
  /** Context values of the calls of a request. Default: none. */
  readonly contextValues?: ((request: Request) => ContextValues) | undefined;
}

/** Names of the options that only restHandler has. */
const HANDLER_OPTIONS = Object.keys({
  prefix: true,
  requestId: true,
  address: true,
  patience: true,
  contextValues: true,
} satisfies Record<Exclude<keyof RestHandlerOptions, keyof GatewayOptions | keyof Served>, true>);

/**
 * Serves rpcs over REST, Connect and gRPC-Web for runtimes with the Fetch API. Needs no server of
 * Node: it uses `Buffer`, node:zlib, node:crypto and node:timers.
 *
 * @returns a function that answers every request and never rejects.
 * @throws Error that names an option that is unknown or has an unsuitable value; RuleError with the rpc and the reason when a rule cannot be served.
 */
export function restHandler(options: RestHandlerOptions): (request: Request) => Promise<Response> {
  checkOptions(options, HANDLER_OPTIONS, "restHandler");
  // biome-ignore lint/suspicious/noConsole: the one log that every runtime of the fetch API has.
  const warn = (message: string): void => console.warn(message);
  const gateway = complete({
    ...options,
    warn: options.warn ?? warn,
    methods: servedMethods(options),
  });
  const rest = new RestDialect(gateway);
  const connect = new ConnectDialect(gateway);
  const find: Dialect["find"] = (path, method) =>
    connect.find(path, method) ?? rest.find(path, method);
  const below = createPathBelow(options.prefix ?? "");
  return (request) => {
    const http = new FetchHttp(request, options, below);
    if (http.path.length + http.query.length > MAX_TARGET) {
      rest.refuse(http, new HttpFault(414, `the address is longer than ${MAX_TARGET} characters`));
      return http.response;
    }
    const isInside = http.path.startsWith("/");
    const found = isInside ? find(http.path, http.method) : undefined;
    const exchange = found?.open(http);
    if (found === undefined) rest.refusePath(http);
    else if (exchange !== undefined) void serve(gateway, exchange);
    return http.response;
  };
}

/** Maximum length of path and query, in characters: other runtimes do not limit the head. */
const MAX_TARGET = 64 * 1024;
/** Bytes of a streamed response that may wait for its reader. */
const WAITING = 64 * 1024;
/** The client disconnected before the response; no client receives it (nginx uses 499). */
const CLIENT_CLOSED = 499;
/** Statuses whose response has no body (Fetch standard, "null body status"). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A request and a response of the Fetch API. */
class FetchHttp implements Http {
  readonly id: string;
  /** Runtimes do not tell. */
  readonly isHttp1 = false;
  readonly url: string;
  readonly path: string;
  readonly query: string;
  readonly response: Promise<Response>;
  readonly sink: Sink;
  readonly #request: Request;
  readonly #options: RestHandlerOptions;
  readonly #resolve: (response: Response) => void;
  readonly #goneListeners: (() => void)[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #wake: ((isRead: boolean) => void) | undefined;
  #pieces: BodyPieces | undefined;
  #isGone = false;
  #isBegun = false;

  constructor(request: Request, options: RestHandlerOptions, below: PathBelow) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
    this.#request = request;
    this.#options = options;
    this.id = options.requestId?.(request) ?? crypto.randomUUID();
    this.url = request.url;
    const [, target = "/"] = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^#]*)/i.exec(request.url) ?? [];
    const mark = target.indexOf("?");
    const path = mark < 0 ? target : target.slice(0, mark);
    this.path = below(path) ?? "";
    this.query = mark < 0 ? "" : target.slice(mark + 1);
    this.sink = {
      write: (chunk) => this.#write(chunk),
      beat: (chunk) => {
        if ((this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(chunk);
      },
    };
    if (request.signal.aborted) this.#leave();
    else request.signal.addEventListener("abort", () => this.#leave(), { once: true });
  }

  get method(): string {
    return this.#request.method;
  }

  contextValues(): ContextValues | undefined {
    return this.#options.contextValues?.(this.#request);
  }

  logError(error: unknown): void {
    // biome-ignore lint/suspicious/noConsole: as the warnings of the start.
    console.error(error);
  }

  get address(): string | undefined {
    return this.#options.address?.(this.#request);
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }

  headers(): Iterable<readonly [string, string]> {
    return this.#request.headers;
  }

  get hasBody(): boolean {
    return this.#request.body !== null;
  }

  async readBody<T>(reading: BodyReading, use: (body: Buffer) => T | Promise<T>): Promise<T> {
    const { bounds, limit } = reading;
    const pieces = this.#read(reading);
    const body = new Gathered(limit);
    try {
      for await (const piece of pieces) {
        if (body.size + piece.length > limit) throw bodyTooLarge(limit);
        body.add(piece);
      }
      return await useBody(bounds.buffered, body.bytes, use, reading.principal);
    } finally {
      pieces.stop();
      body.clear();
    }
  }

  readPieces(reading: BodyReading): BodyPieces {
    this.#pieces = this.#read(reading);
    return this.#pieces;
  }

  #read(reading: BodyReading): BodyPieces {
    // Runtimes differ in whether a disconnect ends the body.
    const gone = new AbortController();
    this.onGone(() => gone.abort(new RequestAborted()));
    const signals = [reading.signal, gone.signal].filter((signal) => signal !== undefined);
    return readWebPieces(this.#request, reading, AbortSignal.any(signals));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  onGone(gone: () => void): void {
    if (this.#isGone) gone();
    else this.#goneListeners.push(gone);
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#wake?.(false);
    for (const gone of this.#goneListeners) gone();
    this.#controller?.error(new RequestAborted());
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  respond(status: number, headers: ReplyHeaders, body: Buffer | string): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const bare = WITHOUT_BODY.has(status) || this.method === "HEAD";
    const init = { status, headers: toHeaders(headers) };
    // The encoded replies are cached: the response gets a copy.
    this.#resolve(
      new Response(bare ? null : typeof body === "string" ? body : Buffer.from(body), init),
    );
  }

  begin(headers: ReplyHeaders): void {
    this.#isBegun = true;
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark: WAITING });
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wake?.(true),
        cancel: () => this.#leave(),
      },
      strategy,
    );
    this.#resolve(new Response(body, { status: 200, headers: toHeaders(headers) }));
  }

  #write(chunk: Buffer): boolean | Promise<boolean> {
    const controller = this.#controller;
    if (controller === undefined || this.#isGone) return false;
    controller.enqueue(chunk);
    if ((controller.desiredSize ?? 0) > 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { patience = 30_000 } = this.#options;
    const timer = setTimeout(() => {
      this.destroy();
      this.#leave();
    }, patience);
    this.#wake = (isRead) => {
      clearTimeout(timer);
      this.#wake = undefined;
      resolve(isRead);
    };
    return promise;
  }

  end(last?: Buffer | string): void {
    if (this.#isGone) return;
    if (last !== undefined && last.length > 0)
      this.#controller?.enqueue(Buffer.from(last as string));
    this.#controller?.close();
  }

  destroy(): void {
    if (this.#isBegun) {
      if (!this.#isGone) this.#controller?.error(new Error("the response was aborted"));
    } else this.respond(CLIENT_CLOSED, {}, "");
  }

  finish(): void {
    this.#pieces?.stop();
    // A client that disconnected before the reply has no response yet.
    if (!this.#isBegun) this.respond(CLIENT_CLOSED, {}, "");
  }
}

function toHeaders(headers: ReplyHeaders): Headers {
  const made = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) made.append(name, String(one));
  return made;
}

/**
 * Reads the body of a request of the Fetch API, with the bounds of transport/body-pieces.ts.
 *
 * @param signal ends the wait, with its reason.
 */
function readWebPieces(
  request: Request,
  { bounds, peer, principal }: Pick<BodyReading, "bounds" | "peer" | "principal">,
  signal: AbortSignal,
): BodyPieces {
  const { buffered, timeoutMs } = bounds;
  const reader = request.body?.getReader();
  let held = 0;
  let waited = 0;
  const release = (bytes: number): void => {
    const given = Math.min(bytes, held);
    held -= given;
    waited = 0;
    if (given > 0) buffered.release(peer, given, principal);
  };
  const stop = (): void => {
    release(held);
    // The rest of the body is not needed; a body that was read to its end has nothing to cancel.
    void reader?.cancel().catch(() => undefined);
  };
  // Not Promise.race: one promise for the whole body would retain part of each piece.
  let refuse: (reason: unknown) => void = () => undefined;
  signal.addEventListener("abort", () => refuse(signal.reason), { once: true });
  const read = async (): Promise<Uint8Array | undefined> => {
    if (reader === undefined) return undefined;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
    refuse = reject;
    const since = performance.now();
    const timer = setTimeout(() => reject(bodyLate(timeoutMs)), Math.max(1, timeoutMs - waited));
    reader.read().then(
      ({ value }) => resolve(value),
      () => reject(new RequestAborted()),
    );
    return promise.finally(() => {
      clearTimeout(timer);
      waited += performance.now() - since;
    });
  };
  async function* pieces(): AsyncGenerator<Buffer> {
    for (;;) {
      const value = await read();
      if (value === undefined) return;
      if (!buffered.reserve(peer, value.length, principal)) throw bodyCrowded();
      held += value.length;
      // A copy: the bytes may belong to the caller.
      yield Buffer.from(value);
    }
  }
  const iterator = pieces();
  return { release, stop, [Symbol.asyncIterator]: () => iterator };
}
