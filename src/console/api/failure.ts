import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  LocalizedMessageSchema,
} from "../../../gen/google/rpc/error_details_pb.js";

/** Kind of a failure, by the action to take. */
type FailureKind =
  /** The service was not reached: retry later. */
  | "offline"
  /** The token's scopes do not allow it. */
  | "denied"
  /** The object was changed in the meantime. */
  | "conflict"
  /** The requested object was deleted or never existed. */
  | "gone"
  /** The request is invalid; the violations have the fields. */
  | "invalid"
  | "other";

/** Failed call, for display. */
export interface Failure {
  readonly kind: FailureKind;
  /** Message of the service, in the language of the page if available. */
  readonly message: string;
  /** Request id as in the service's log; empty if the service was not reached. */
  readonly requestId: string;
  /** Problems by field, such as `settings[0].value`. */
  readonly violations: readonly { readonly field: string; readonly description: string }[];
}

const KINDS: Partial<Record<Code, FailureKind>> = {
  [Code.Unavailable]: "offline",
  [Code.PermissionDenied]: "denied",
  [Code.Aborted]: "conflict",
  [Code.NotFound]: "gone",
  [Code.OutOfRange]: "gone",
  [Code.InvalidArgument]: "invalid",
};

export function failureOf(thrown: unknown): Failure {
  const error = ConnectError.from(thrown);
  // Error of fetch without an answer: its text differs between browsers.
  const unreached = error.cause instanceof TypeError || thrown instanceof TypeError;
  const [localized] = error.findDetails(LocalizedMessageSchema);
  return {
    kind: unreached ? "offline" : (KINDS[error.code] ?? "other"),
    message: unreached ? "" : (localized?.message ?? error.rawMessage),
    requestId: error.metadata.get("x-request-id") ?? "",
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description, localizedMessage }) => ({
        field,
        description: localizedMessage?.message || description,
      })),
  };
}
