import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  LocalizedMessageSchema,
} from "../../../gen/google/rpc/error_details_pb.js";

/** Kind of a failure, by the action to take. */
type FailureKind =
  /** The service was not reached: it comes back, or the network does. */
  | "offline"
  /** The token's scopes do not allow it. */
  | "denied"
  /** Something else has changed meanwhile. */
  | "conflict"
  /** The requested object was deleted or never existed. */
  | "gone"
  /** The request is wrong; the violations say where. */
  | "invalid"
  | "other";

/** A failed call, for people. */
export interface Failure {
  readonly kind: FailureKind;
  /** The service's own words, in the language of the page where it has them. */
  readonly message: string;
  /** As in the service's log; empty when it was not reached. */
  readonly requestId: string;
  /** Field such as `settings[0].value` to what is wrong with it. */
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
  // Error of fetch when nothing answers: its text differs from browser to browser.
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
