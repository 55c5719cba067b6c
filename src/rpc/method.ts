import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";

/** The protocol that a call came in by; `cli`: none, a command works on the database itself. */
export type Door = "grpc" | "grpc-web" | "connect" | "rest" | "cli";

/** Reads request headers by lower-case name. gRPC metadata reads the same way. */
export interface HeaderReader {
  /** The header's value (several values joined by ", "), or undefined when absent. */
  get(name: string): string | undefined;
}

/** What a door knows of one call besides its message. */
export interface Call {
  readonly door: Door;
  readonly header: HeaderReader;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /** Identifies the call in logs, in the reply's `x-request-id` and in the history. */
  readonly requestId: string;
  /** The client's address without port, such as `127.0.0.1` or `::1`; empty when unknown. */
  readonly peer: string;
  /** The name of the token that the call was let in with; set by the auth interceptor. */
  actor?: string;
}

/** A reply, or a promise of one where there is something to wait for: most reads have no need to. */
export type UnaryInvoke = (request: Message, call: Call) => Message | Promise<Message>;
export type StreamInvoke = (request: Message, call: Call) => AsyncIterable<Message>;

/**
 * A unary method with all its interceptors around it, as every door calls it. It throws or rejects
 * with a ConnectError and nothing else. A read returns the same message object while its state stands, so
 * doors may keep its encoded bytes by identity.
 */
export interface UnaryMethod {
  readonly kind: "unary";
  readonly desc: DescMethodUnary;
  readonly invoke: UnaryInvoke;
}

/** A server-streaming method, likewise. The iteration ends when `call.signal` is aborted. */
export interface StreamMethod {
  readonly kind: "server_streaming";
  readonly desc: DescMethodServerStreaming;
  readonly invoke: StreamInvoke;
}

/** Whether a method changes nothing, as its idempotency_level in the contract says: replies may be kept. */
export function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** A method of the contract, bound to its implementation. */
export type Method = UnaryMethod | StreamMethod;

/**
 * Something that stands around every method of every door. It is asked once a method, when the
 * process starts, and so costs nothing at a call where it has nothing to do. It returns `next`
 * itself for such a method.
 */
export interface Interceptor {
  unary(next: UnaryInvoke, desc: DescMethod): UnaryInvoke;
  serverStreaming(next: StreamInvoke, desc: DescMethod): StreamInvoke;
}

/** What a service does for one method: from request message to reply message or messages. */
export type Handler<M extends DescMethod> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: Call) => MessageShape<O> | Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: Call) => AsyncIterable<MessageShape<O>>
      : never;

/** A handler for each method of a service: a missing one is a compile error. */
export type Handlers<S extends DescService> = {
  readonly [Name in keyof S["method"]]: Handler<S["method"][Name]>;
};

/**
 * Binds a service's handlers and puts the interceptors around each, the first one outermost.
 *
 * @throws Error for a method kind that no door here serves.
 */
export function bindService<S extends DescService>(
  service: S,
  handlers: Handlers<S>,
  interceptors: readonly Interceptor[],
): Method[] {
  return service.methods.map((desc) => {
    const handler: unknown = handlers[desc.localName as keyof S["method"]];
    if (desc.methodKind === "unary") {
      const innermost = handler as UnaryInvoke;
      const invoke = interceptors.reduceRight((next, it) => it.unary(next, desc), innermost);
      return { kind: "unary", desc: desc as DescMethodUnary, invoke };
    }
    if (desc.methodKind === "server_streaming") {
      const innermost = handler as StreamInvoke;
      const invoke = interceptors.reduceRight((n, it) => it.serverStreaming(n, desc), innermost);
      return { kind: "server_streaming", desc: desc as DescMethodServerStreaming, invoke };
    }
    throw new Error(`${desc.toString()}: client streams are not served`);
  });
}
