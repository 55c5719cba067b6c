import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ServiceError } from "../service/error.ts";

/** What a client learns of a failure that no rule of ours foresaw. */
const MASKED = "internal error";

/**
 * Turns anything thrown into what a client may see. A ServiceError keeps code, message and
 * violations (as `google.rpc.BadRequest`); anything unknown is masked, with its cause kept for the
 * log.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!(error instanceof ServiceError))
    return new ConnectError(MASKED, Code.Internal, undefined, undefined, error);
  const details =
    error.violations.length === 0
      ? undefined
      : [
          {
            desc: BadRequestSchema,
            value: create(BadRequestSchema, { fieldViolations: error.violations.map(toProto) }),
          },
        ];
  return new ConnectError(error.message, error.code, undefined, details, error.cause);
}

function toProto({ field, description }: ServiceError["violations"][number]) {
  return { field, description };
}
