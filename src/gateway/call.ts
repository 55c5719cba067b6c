import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";

/** The protocol that a call came in by; `cli`: none, a command works on the database itself. */
export type Door = "grpc" | "grpc-web" | "connect" | "rest" | "cli";

/** What is known of the one who calls. */
export interface CallInfo {
  readonly door: Door;
  /** Identifies the call in logs, in the reply's `x-request-id` and in the history. */
  readonly requestId: string;
  /** The client's address without port, such as `127.0.0.1` or `::1`; empty when unknown. */
  readonly peer: string;
  /** The caller's name, for logs; undefined: none was needed or given. */
  readonly actor?: string | undefined;
  /** The caller, as the application's `admit` has found it. Opaque to the gateway. */
  readonly principal?: unknown;
  /** A request header (or metadata) by lower-case name, where the call came by a door. */
  header?(name: string): string | undefined;
}

/** Where interceptors and handlers find who calls. */
export const callKey = createContextKey<CallInfo | undefined>(undefined, {
  description: "who calls",
});

/**
 * A call of any door: what Connect hands to handlers and interceptors. One is made for each call, so
 * what most calls do not ask for (web headers, a signal, context values) is made when it is asked for.
 */
export abstract class Call implements HandlerContext, CallInfo {
  abstract readonly door: Door;
  abstract readonly requestMethod: string;
  abstract readonly url: string;
  readonly method: DescMethod;
  readonly requestId: string;
  /** Set by the application's `admit`. */
  actor: string | undefined;
  principal: unknown;
  /**
   * Encodes a reply as its transport sends it, once for each message; set by the transport. It
   * throws UnencodableReply for a reply that has no valid encoding, which then is the call's failure.
   */
  encode: ((reply: Message) => unknown) | undefined;
  #controller: AbortController | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #limit: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined;
  #done = false;
  #peer: string | undefined;

  constructor(method: DescMethod, requestId: string) {
    this.method = method;
    this.requestId = requestId;
  }

  /** A request header (or metadata) by lower-case name; several values joined by ", ". */
  abstract header(name: string): string | undefined;
  /** All of them. */
  protected abstract headers(): Headers;
  /** The client's address from its socket; empty when that is gone. */
  protected abstract address(): string;
  /** Tells when nobody waits for a reply any more: it was sent, or the client has gone away. */
  protected abstract onGone(gone: () => void): void;

  get service(): DescService {
    return this.method.parent;
  }

  /** Kept, because the socket forgets it when the client goes. */
  get peer(): string {
    this.#peer ??= this.address();
    return this.#peer;
  }

  get protocolName(): string {
    return this.door;
  }

  /** Aborted when the client goes away, the deadline passes or the right to the call ends. */
  get signal(): AbortSignal {
    return this.#control().signal;
  }

  /** Ends what the call still waits for. */
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

  /** The headers that a handler or interceptor has set; undefined where none has. */
  get setHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** The trailers, likewise. */
  get setTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues().set(callKey, this);
    return this.#values;
  }

  /** Gives the call so many milliseconds from now; it is aborted with DEADLINE_EXCEEDED then. */
  limitTime(ms: number): void {
    const late = (): void =>
      this.abort(new ConnectError("the call's time limit is over", Code.DeadlineExceeded));
    this.#limit = { at: performance.now() + ms, timer: setTimeout(late, Math.min(ms, MAX_TIME)) };
  }

  /** Whether the call has a time limit. */
  get limited(): boolean {
    return this.#limit !== undefined;
  }

  timeoutMs(): number | undefined {
    return this.#limit && this.#limit.at - performance.now();
  }

  /** The call has its answer: nothing waits for its limit any more, and its client may go. */
  done(): void {
    this.#done = true;
    clearTimeout(this.#limit?.timer);
  }

  #control(): AbortController {
    if (this.#controller !== undefined) return this.#controller;
    const controller = new AbortController();
    this.#controller = controller;
    // Whoever reports a call that its client has left wants to know who that was.
    void this.peer;
    this.onGone(() => {
      if (!this.#done) this.abort(new ConnectError("the client ended the call", Code.Canceled));
    });
    return controller;
  }
}

/**
 * A header of a call's request. It is read without making web headers, where no interceptor has put
 * others in their place.
 */
export function headerOf(context: HandlerContext, name: string): string | undefined {
  if (context instanceof Call && !Object.hasOwn(context, "requestHeader"))
    return context.header(name);
  return context.requestHeader.get(name) ?? undefined;
}

/** Longest time that a timer of Node can wait, in milliseconds. */
const MAX_TIME = 2 ** 31 - 1;
