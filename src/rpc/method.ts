import type { DescMethod, Message } from "@bufbuild/protobuf";

/** The protocol that a call came in by. */
export type Door = "grpc" | "grpc-web" | "connect" | "rest";

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
}

/**
 * A unary method with all its interceptors around it, as every door calls it. It rejects with a
 * ConnectError and nothing else. A read returns the same message object while its state stands, so
 * doors may keep its encoded bytes by identity.
 */
export interface UnaryMethod {
  readonly kind: "unary";
  readonly desc: DescMethod;
  invoke(request: Message, call: Call): Promise<Message>;
}

/** A server-streaming method, likewise. The iteration ends when `call.signal` is aborted. */
export interface StreamMethod {
  readonly kind: "server_streaming";
  readonly desc: DescMethod;
  invoke(request: Message, call: Call): AsyncIterable<Message>;
}

/** A method of the contract, bound to its implementation. */
export type Method = UnaryMethod | StreamMethod;
