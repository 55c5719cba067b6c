import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  JsonObject,
  Message,
} from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";

/** One protocol over one kind of connection, from the client's side. */
export interface Transport {
  readonly name: string;
  /** The service's name of this protocol. */
  readonly protocol: "rest" | "connect" | "grpc-web" | "grpc";
  /** Whether the transport supports this method. */
  readonly carries: (method: DescMethod) => boolean;
  readonly call: (
    method: DescMethodUnary,
    request: Message,
    options: CallOptions,
  ) => Promise<Outcome>;
  /** The stream's messages as JSON; throws a WireFailure when it ends with an error. */
  readonly watch: (
    method: DescMethodServerStreaming,
    request: Message,
    options: CallOptions,
  ) => AsyncIterable<JsonObject>;
  /** The protocol's number of a canonical code. */
  readonly codeOf: (code: Code) => number;
  readonly close: () => void;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Result of a call: a reply message or a failure. */
export type Outcome =
  | { readonly kind: "reply"; readonly message: JsonObject; readonly requestId: string }
  | ({ readonly kind: "failure" } & Failure);

export interface Failure {
  /** The protocol's own number: see Transport.codeOf. */
  readonly code: number;
  readonly message: string;
  /** Fields of google.rpc.BadRequest, or of the envelope's `data`. */
  readonly fields: readonly string[];
  readonly requestId: string;
}

/** End of a stream with an error. */
export class WireFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A message in the contract's form: proto names, every member present. */
export function messageJson(desc: DescMethod["output"], message: Message): JsonObject {
  const json = toJson(desc, message, { useProtoFieldName: true, alwaysEmitImplicit: true });
  return json as JsonObject;
}
