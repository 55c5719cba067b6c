import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  type JsonObject,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import {
  BadRequestSchema,
  LocalizedMessageSchema,
} from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import {
  type CallOptions,
  detailsOf,
  type Failure,
  messageJson,
  type Transport,
  WireFailure,
} from "./transport.ts";

/** gRPC by grpc-js, whose client has nothing of this service but its messages. */
export function grpcTransport(name: string, port: number, options: ClientOptions = {}): Transport {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  return {
    name,
    protocol: "grpc",
    carries: () => true,
    codeOf: (code) => code,
    call: (method, request, call) =>
      new Promise((resolve) => {
        let requestId = "";
        const surface = client.makeUnaryRequest(
          pathOf(method),
          (message: Message) => Buffer.from(toBinary(method.input, message)),
          (bytes: Buffer) => messageJson(method.output, fromBinary(method.output, bytes)),
          request,
          metadataOf(call),
          (error, message?: JsonObject) => {
            if (error !== null) resolve({ kind: "failure", ...failureOf(error) });
            // The trailer is sent with the status, after the message.
            else
              queueMicrotask(() => resolve({ kind: "reply", message: message ?? {}, requestId }));
          },
        );
        surface.on("status", ({ metadata }) => {
          requestId = idOf(metadata);
        });
        call.signal?.addEventListener("abort", () => surface.cancel());
      }),
    async *watch(method, request, call) {
      const stream = client.makeServerStreamRequest(
        pathOf(method),
        (message: Message) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => messageJson(method.output, fromBinary(method.output, bytes)),
        request,
        metadataOf(call),
      );
      call.signal?.addEventListener("abort", () => stream.cancel());
      try {
        for await (const message of stream) yield message as JsonObject;
      } catch (error) {
        throw new WireFailure(failureOf(error as ServiceError));
      } finally {
        stream.cancel();
      }
    },
    close: () => client.close(),
  };
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function metadataOf({ headers = {} }: CallOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers))
    metadata.set(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  return metadata;
}

function failureOf({ code, details, metadata }: ServiceError): Failure {
  const [bytes] = metadata.get("grpc-status-details-bin");
  const status = Buffer.isBuffer(bytes) ? fromBinary(StatusSchema, bytes) : undefined;
  const found = <D extends DescMessage>(desc: D) =>
    (status?.details ?? []).flatMap((detail) => anyUnpack(detail, desc) ?? []);
  return {
    code,
    message: details,
    ...detailsOf(found(BadRequestSchema), found(LocalizedMessageSchema)),
    requestId: idOf(metadata),
  };
}

function idOf(metadata: Metadata): string {
  return String(metadata.get("x-request-id")[0] ?? "");
}
