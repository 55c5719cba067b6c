import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { type ServiceError as GrpcServiceError, Metadata } from "@grpc/grpc-js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { Call } from "../method.ts";

/** Trailing metadata of every reply. */
export function trailerOf(call: Call): Metadata {
  const metadata = new Metadata();
  metadata.set("x-request-id", call.requestId);
  return metadata;
}

/**
 * An error as grpc-js sends it. Details travel as a google.rpc.Status in `grpc-status-details-bin`
 * (gRPC over HTTP/2, richer error model).
 */
export function toGrpcStatus(error: ConnectError, call: Call): GrpcServiceError {
  const metadata = trailerOf(call);
  const details = error.details.flatMap((detail) =>
    "desc" in detail ? [anyPack(detail.desc, create(detail.desc, detail.value))] : [],
  );
  if (details.length > 0) {
    const { code, rawMessage: message } = error;
    const status = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
    metadata.set("grpc-status-details-bin", Buffer.from(status));
  }
  return Object.assign(new Error(error.rawMessage), {
    code: error.code as number,
    details: error.rawMessage,
    metadata,
  });
}
