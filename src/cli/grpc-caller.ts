import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { type Caller, CallFailure } from "./caller.ts";
import type { ServiceAddress } from "./service-address.ts";

/** Where a service is and how it is called. TLS trusts the authorities that Node trusts. */
export interface GrpcTarget extends Omit<ServiceAddress, "place"> {
  readonly token: string;
  /** Of a unary call, in milliseconds. */
  readonly timeoutMs: number;
}

const options: ClientOptions = {
  "grpc.primary_user_agent": "mooring-cli",
  // 10,000 settings of a few kilobytes; a reply beyond it is refused, not read.
  "grpc.max_receive_message_length": 64 * 1024 * 1024,
  // The address is meant as it is written, whatever proxy the environment names.
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
  // A watch notices a service that vanished without a word.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // Waiting between attempts is the watch's own business.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
};

/** A client of a running service. It connects at the first call. */
export function createGrpcCaller({ target, secure, token, timeoutMs }: GrpcTarget): Caller {
  const client = new Client(
    target,
    secure ? credentials.createSsl() : credentials.createInsecure(),
    options,
  );
  const metadata = new Metadata();
  metadata.set("authorization", token);
  return {
    unary: (method, request) =>
      new Promise((resolve, reject) => {
        const { path, serialize, deserialize, message } = prepare(method, request);
        const deadline = Date.now() + timeoutMs;
        const settle = (error: ServiceError | null, reply?: MessageShape<typeof method.output>) => {
          if (error === null && reply !== undefined) resolve(reply);
          else reject(toFailure(error));
        };
        client.makeUnaryRequest(
          path,
          serialize,
          deserialize,
          message,
          metadata,
          { deadline },
          settle,
        );
      }),
    stream: (method, request, signal) => {
      const { path, serialize, deserialize, message } = prepare(method, request);
      return messagesOf(
        client.makeServerStreamRequest(path, serialize, deserialize, message, metadata),
        signal,
      );
    },
    close: async () => client.close(),
  };
}

function prepare<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
) {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    serialize: (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
    deserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
    message: create(method.input, request),
  };
}

async function* messagesOf<T>(
  stream: ClientReadableStream<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const cancel = (): void => stream.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    yield* stream as AsyncIterable<T>;
  } catch (error) {
    if (!signal.aborted) throw toFailure(error as ServiceError);
  } finally {
    signal.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

function toFailure(error: ServiceError | null): CallFailure {
  if (error === null || typeof error.code !== "number" || error.code === status.OK)
    return new CallFailure({
      code: status.INTERNAL,
      message: `the call ended without a reply${error === null ? "" : ` (${error.message})`}`,
      answered: false,
    });
  return new CallFailure({
    code: error.code,
    message: error.details,
    violations: violationsOf(error.metadata),
    // Every reply of the service carries this; a failed connection has no reply.
    answered: (error.metadata?.get("x-request-id").length ?? 0) > 0,
  });
}

/** The field violations of a `google.rpc.BadRequest` (gRPC's richer error model). */
function violationsOf(metadata: Metadata | undefined): string[] {
  const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
  if (!Buffer.isBuffer(bytes)) return [];
  try {
    return fromBinary(StatusSchema, bytes).details.flatMap(
      (detail) =>
        anyUnpack(detail, BadRequestSchema)?.fieldViolations.map((each) => each.description) ?? [],
    );
  } catch {
    // Details that can't be read take nothing from the message.
    return [];
  }
}
