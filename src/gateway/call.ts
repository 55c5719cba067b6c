import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { Signalled } from "./serialize.ts";

/** Transport of a call; `cli`: none, a command works on the database itself. */
export type CallTransport = "grpc" | "grpc-web" | "connect" | "rest" | "cli";

/** The caller of a call, and its transport. */
export interface CallInfo {
  /** Transport of the call. */
  readonly transport: CallTransport;
  /** Id of the call in logs, in the reply's `x-request-id` and in the history. */
  readonly requestId: string;
  /** The client's address without port, such as `127.0.0.1` or `::1`; empty when unknown. */
  readonly peer: string;
  /** The caller's name, for logs; undefined without credentials. */
  readonly actor?: string | undefined;
  /** The caller, as `admit` of the application has set it. Opaque to the gateway. */
  readonly principal?: unknown;
  /** A request header (or metadata) by lower-case name; not of a `cli` call. */
  header?(name: string): string | undefined;
}

/** Context value with the caller, for interceptors and handlers. */
export const callKey = createContextKey<CallInfo | undefined>(undefined, {
  description: "caller",
});

/**
 * A call of any transport: Connect's HandlerContext. Web headers, signal and context values, which
 * most calls do not use, are created on first use.
 */
export abstract class Call implements HandlerContext, CallInfo {
  abstract readonly transport: CallTransport;
  abstract readonly requestMethod: string;
  abstract readonly url: string;
  readonly method: DescMethod;
  readonly requestId: string;
  /** Set by the application's `admit`. */
  actor: string | undefined;
  /**
   * Name of the caller for its share of the byte budget, which all of its actors have together. Set by
   * the application's `admit`; undefined: only the client's address counts.
   */
  holder: string | undefined;
  principal: unknown;
  #controller: AbortController | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #limit: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined;
  #endsEarly = false;
  #done = false;
  #peer: string | undefined;

  constructor(method: DescMethod, requestId: string) {
    this.method = method;
    this.requestId = requestId;
  }

  /**
   * Encodes a reply in the form of its transport, once per message.
   *
   * @throws UnencodableReply for a reply without a valid encoding, which fails the call.
   *
   * @internal
   */
  abstract encode(reply: Message): unknown;
  /**
   * Encodes parts of a large reply over several ticks of the event loop, before `encode`.
   *
   * @returns undefined: there is nothing to do. @internal
   */
  prepare(_reply: Message, _request: Signalled): Promise<void> | undefined {
    return undefined;
  }
  /** A request header (or metadata) by lower-case name; several values joined by ", ". */
  abstract header(name: string): string | undefined;
  /** All request headers. @internal */
  protected abstract headers(): Headers;
  /** The client's address from its socket; empty when the socket is closed. @internal */
  protected abstract address(): string;
  /** Calls back when the reply has been sent or the client has disconnected. @internal */
  protected abstract onGone(gone: () => void): void;

  get service(): DescService {
    return this.method.parent;
  }

  /** Kept on first use: a closed socket has no address. */
  get peer(): string {
    this.#peer ??= this.address();
    return this.#peer;
  }

  get protocolName(): string {
    return this.transport;
  }

  /**
   * Aborted when the client disconnects, the deadline passes, the caller loses its rights or the
   * server shuts down, and after the reply.
   */
  get signal(): AbortSignal {
    return this.#control().signal;
  }

  /** Aborts the signal. */
  abort(reason: ConnectError): void {
    this.#control().abort(reason);
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.headers();
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** Reply headers of handlers and interceptors; undefined when none is set. @internal */
  get setHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** Reply trailers of handlers and interceptors; undefined when none is set. @internal */
  get setTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    if (this.#values === undefined) {
      const given = this.givenValues();
      this.#values =
        given === undefined ? createContextValues().set(callKey, this) : withCall(given, this);
    }
    return this.#values;
  }

  /** Values that the application gives the call; undefined: none. @internal */
  protected givenValues(): ContextValues | undefined {
    return undefined;
  }

  /** Sets the time until the call is aborted with DEADLINE_EXCEEDED, in milliseconds. */
  limitTime(ms: number): void {
    const late = (): void =>
      this.abort(new ConnectError("the call's time limit has expired", Code.DeadlineExceeded));
    this.#limit = { at: performance.now() + ms, timer: setTimeout(late, Math.min(ms, MAX_TIME)) };
  }

  /** The call is aborted when the server shuts down. @internal */
  endWithServer(): void {
    this.#endsEarly = true;
  }

  /** Whether the call may end before its handler: it has a deadline, or ends with the server. @internal */
  get limited(): boolean {
    return this.#endsEarly || this.#limit !== undefined;
  }

  /** A function that handlers may take out of the context, as those of Connect. */
  get timeoutMs(): () => number | undefined {
    return () => this.#limit && this.#limit.at - performance.now();
  }

  /** The call has its reply: its deadline and a disconnect have no further effect. @internal */
  done(): void {
    this.#done = true;
    clearTimeout(this.#limit?.timer);
    if (this.#controller?.signal.aborted === false) this.#controller.abort(complete());
  }

  #control(): AbortController {
    if (this.#controller !== undefined) return this.#controller;
    const controller = new AbortController();
    this.#controller = controller;
    // The report of a canceled call has the address, which the closed socket no longer has.
    void this.peer;
    this.onGone(() => {
      if (!this.#done) this.abort(new ConnectError("the client ended the call", Code.Canceled));
    });
    return controller;
  }
}

/**
 * A request header of a call. Reading it creates no Web headers, unless an interceptor has replaced
 * them.
 */
export function headerOf(context: HandlerContext, name: string): string | undefined {
  if (context instanceof Call) return context.header(name);
  return context.requestHeader.get(name) ?? undefined;
}

/** Values of the application with the call, which is not set in them: calls may share them. */
function withCall(values: ContextValues, call: Call): ContextValues {
  const combined: ContextValues = {
    get: (key) => (key.id === callKey.id ? (call as never) : values.get(key)),
    set: (key, value) => {
      values.set(key, value);
      return combined;
    },
    delete: (key) => {
      values.delete(key);
      return combined;
    },
  };
  return combined;
}

let completed: ConnectError | undefined;

/**
 * Reason of the signal of a call that has its reply. It is created at its first use: an error of Connect
 * has `Headers`, for which Node loads its HTTP client, 40 ms and 3 MB.
 */
function complete(): ConnectError {
  completed ??= new ConnectError("the call is complete", Code.Canceled);
  return completed;
}

/** Longest delay of a timer, in milliseconds. */
const MAX_TIME = 2 ** 31 - 1;
