import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { Message, message, type Text } from "./message.ts";

/** Invalid value of a request, for `google.rpc.BadRequest.FieldViolation`. */
export interface Violation {
  /** Path of the value in the request, such as `settings[2].value`. */
  readonly field: string;
  /** Description of the problem and its remedy. Never contains the value of a secret. */
  readonly description: Text;
}

/**
 * Expected failure of a service: a canonical gRPC code and a message for people. Clients receive
 * all other errors as "internal error".
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: Code;
  readonly text: Text;
  readonly violations: readonly Violation[];

  constructor(
    code: Code,
    text: Text,
    options: { violations?: readonly Violation[]; cause?: unknown } = {},
  ) {
    super(text.toString(), options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.text = text;
    this.violations = options.violations ?? [];
  }

  /** The error for clients: code, message, `google.rpc.ErrorInfo` and `google.rpc.BadRequest`. */
  toConnectError(): LocalizableError {
    return new LocalizableError(this.code, this.text, this);
  }
}

/** Error detail for Connect. */
type OutgoingDetail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

/** Domain of the reasons in `google.rpc.ErrorInfo`. */
export const ERROR_DOMAIN = "mooring";

/** An error with its message as data, which is translated when it is sent. */
export class LocalizableError extends ConnectError {
  readonly text: Text;
  readonly violations: readonly Violation[];

  constructor(
    code: Code,
    text: Text,
    { violations = [], cause }: { violations?: readonly Violation[]; cause?: unknown } = {},
  ) {
    super(text.toString(), code, undefined, errorDetails(text, violations), cause);
    this.text = text;
    this.violations = violations;
  }
}

/** Details of an error: `google.rpc.ErrorInfo`, and `google.rpc.BadRequest` for violations. */
export function errorDetails(text: Text, violations: readonly Violation[]): OutgoingDetail[] {
  return [
    // First, as before there was an ErrorInfo: clients that read the first detail continue to work.
    ...(violations.length > 0 ? [{ desc: BadRequestSchema, value: badRequestOf(violations) }] : []),
    ...(text instanceof Message ? [{ desc: ErrorInfoSchema, value: errorInfo(text) }] : []),
  ];
}

/** `google.rpc.ErrorInfo`: the id of the message and its parameters as text. */
function errorInfo(text: Message) {
  const { id, parameters } = text.problem;
  const metadata = Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, String(value).toWellFormed()]),
  );
  return create(ErrorInfoSchema, { reason: id, domain: ERROR_DOMAIN, metadata });
}

function badRequestOf(violations: readonly Violation[]) {
  const fieldViolations = violations.map(({ field, description }) => ({
    field: field.toWellFormed(),
    description: description.toString().toWellFormed(),
    reason: description instanceof Message ? description.problem.id : "",
  }));
  return create(BadRequestSchema, { fieldViolations });
}

/** INVALID_ARGUMENT with all violations at once; the message is the first one's description. */
export function invalid(violations: readonly [Violation, ...Violation[]]): ServiceError {
  const [{ description }] = violations;
  const count = violations.length - 1;
  const text = count === 0 ? description : message("AND_MORE", { problem: description, count });
  return new ServiceError(Code.InvalidArgument, text, { violations });
}

/** INVALID_ARGUMENT with every violation of a list; nothing when the list is empty. */
export function rejectViolations(violations: readonly Violation[]): void {
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
}

/** NOT_FOUND. */
export function notFound(text: Message): ServiceError {
  return new ServiceError(Code.NotFound, text);
}

/** FAILED_PRECONDITION: the request is well-formed, but not in this state. */
export function failedPrecondition(text: Message): ServiceError {
  return new ServiceError(Code.FailedPrecondition, text);
}

/** UNAVAILABLE: a component that the call requires does not answer; a retry may succeed. */
export function unavailable(text: Text, cause?: unknown): ServiceError {
  return new ServiceError(Code.Unavailable, text, { cause });
}

/** PERMISSION_DENIED. */
export function denied(text: Message): ServiceError {
  return new ServiceError(Code.PermissionDenied, text);
}

/** The error of a check for clients; undefined: it passes. Other errors are thrown. */
export function refusalOf(check: () => void): ServiceError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
