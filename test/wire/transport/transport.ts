import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";
import type { BadRequest, LocalizedMessage } from "../../../gen/google/rpc/error_details_pb.js";
import { TOKEN } from "../service.ts";

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
  /** The message and those of the violations in the requested language. */
  readonly localized: readonly string[];
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

/** Calls any method, by default as the admin: the reply, the first event of a stream, or the failure. */
export async function invoke(
  transport: Transport,
  method: DescMethod,
  members: object = {},
  headers: CallOptions["headers"] = { authorization: TOKEN },
): Promise<Outcome> {
  const request: Message = create(method.input, { ...members });
  if (method.methodKind === "unary")
    return transport.call(method as DescMethodUnary, request, { headers });
  try {
    const events = transport.watch(method as DescMethodServerStreaming, request, { headers });
    for await (const message of events) return { kind: "reply", message, requestId: "" };
    throw new Error("the stream has ended without a message");
  } catch (error) {
    if (error instanceof WireFailure) return { kind: "failure", ...error.failure };
    throw error;
  }
}

/** The message of a reply or first event. */
export async function read(...call: Parameters<typeof invoke>): Promise<JsonObject> {
  const outcome = await invoke(...call);
  if (outcome.kind === "failure") throw new Error(outcome.message);
  return outcome.message;
}

/** Members of a failure that are in its details. */
export function detailsOf(
  requests: readonly BadRequest[],
  messages: readonly LocalizedMessage[],
): Pick<Failure, "fields" | "localized"> {
  const violations = requests.flatMap(({ fieldViolations }) => fieldViolations);
  const inViolations = violations.flatMap(({ localizedMessage }) => localizedMessage ?? []);
  return {
    fields: violations.map(({ field }) => field),
    localized: [...messages, ...inViolations].map(({ message }) => message),
  };
}
