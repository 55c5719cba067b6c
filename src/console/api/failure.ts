import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  LocalizedMessageSchema,
} from "../../../gen/google/rpc/error_details_pb.js";
import { t } from "../i18n/language.ts";

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

/** The service was not reached. */
export const UNREACHED: Failure = { kind: "offline", message: "", requestId: "", violations: [] };

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
        description: withoutPath(field, localizedMessage?.message || description),
      })),
  };
}

/** All problems of a failed call as one text. */
export function problemOf(thrown: unknown): string {
  const { message, violations } = failureOf(thrown);
  const problems = violations.map(({ field, description }) => `${memberOf(field)}: ${description}`);
  return problems.join("; ") || message || t("state.offline");
}

/** Member that a field is about: `config.root` of `mounts[0].config.root`. */
export function memberOf(field: string): string {
  return field.replace(/^\w+(?:\[\d+\])?\./, "");
}

/** Description of a problem without the path of its field, which is shown at the field. */
export function withoutPath(field: string, description: string): string {
  if (field === "" || !description.startsWith(field)) return description;
  const rest = description.slice(field.length);
  // A longer path that begins with this one stays.
  return /^[\s:：]/.test(rest) ? rest.replace(/^[\s:：]+/, "") : description;
}
