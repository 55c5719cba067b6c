import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";

/** One wrong value of a request, as `google.rpc.BadRequest.FieldViolation` carries it. */
export interface Violation {
  /** Path of the value in the request, such as `settings[2].value`. */
  readonly field: string;
  /** What is wrong, where, and what would be right, for a person. Never the value of a secret. */
  readonly description: string;
}

/**
 * A failure that a service decided on: a canonical gRPC code and a message for people. Everything
 * else that is thrown is unknown and reaches clients as "internal error" only.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: Code;
  readonly violations: readonly Violation[];

  constructor(
    code: Code,
    message: string,
    options: { violations?: readonly Violation[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.violations = options.violations ?? [];
  }

  /** The same for clients: code, message, and violations as `google.rpc.BadRequest`. */
  toConnectError(): ConnectError {
    const fieldViolations = this.violations.map(({ field, description }) => ({
      field,
      description,
    }));
    const details =
      fieldViolations.length === 0
        ? undefined
        : [{ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) }];
    return new ConnectError(this.message, this.code, undefined, details, this.cause);
  }
}

/** INVALID_ARGUMENT with all violations at once; the message is the first one's description. */
export function invalid(violations: readonly [Violation, ...Violation[]]): ServiceError {
  const [first] = violations;
  const more = violations.length - 1;
  const rest = more === 0 ? "" : ` (and ${more} more)`;
  return new ServiceError(Code.InvalidArgument, `${first.description}${rest}`, { violations });
}

/** NOT_FOUND. */
export function notFound(message: string): ServiceError {
  return new ServiceError(Code.NotFound, message);
}

/** FAILED_PRECONDITION: the request is well-formed, but not in this state. */
export function failedPrecondition(message: string): ServiceError {
  return new ServiceError(Code.FailedPrecondition, message);
}

/** UNAVAILABLE: a part that this call needs does not answer; it may later. */
export function unavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError(Code.Unavailable, message, { cause });
}

/** PERMISSION_DENIED. */
export function denied(message: string): ServiceError {
  return new ServiceError(Code.PermissionDenied, message);
}
