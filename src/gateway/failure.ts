import { STATUS_CODES } from "node:http";
import { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { errorEnvelope, type Violation } from "./envelope.ts";
import { ENVELOPE_CODE } from "./error-code.ts";
import { HttpFault } from "./fault.ts";

/** An error as a client sees it. */
export interface Failure {
  /** The envelope's code. */
  readonly code: number;
  /** The HTTP status is `code`, whatever the switch for documented paths says. */
  readonly real: boolean;
  readonly message: string;
  readonly violations: readonly Violation[];
  /** Header names and values by turns. */
  readonly headers: readonly string[];
  /** The error is none that a client may read: its words are masked. */
  readonly unexpected: boolean;
}

/**
 * What a client sees of an error: a ConnectError by the table of codes, an HttpFault with its own
 * status, anything else masked as 500 "internal error". Never throws.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof HttpFault) return describeFault(error);
  if (error instanceof ConnectError) return describeConnectError(error);
  return MASKED;
}

/** The failure's envelope as JSON text. */
export function failureEnvelope(failure: Failure): string {
  return errorEnvelope(failure.code, failure.message, failure.violations);
}

const INTERNAL = 500;

const MASKED: Failure = {
  code: INTERNAL,
  real: false,
  message: "internal error",
  violations: [],
  headers: [],
  unexpected: true,
};

function describeFault({ status, message, headers }: HttpFault): Failure {
  return { code: status, real: true, message, violations: [], headers, unexpected: false };
}

function describeConnectError(error: ConnectError): Failure {
  const code = ENVELOPE_CODE[error.code] ?? INTERNAL;
  if (code === INTERNAL) return { ...MASKED, unexpected: false };
  return {
    code,
    real: false,
    message: error.rawMessage || (STATUS_CODES[code] ?? "error").toLowerCase(),
    violations: readViolations(error),
    headers: readHeaders(error, code),
    unexpected: false,
  };
}

function readViolations(error: ConnectError): Violation[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations)
    .map(({ field, description }) => ({ field, description }));
}

function readHeaders(error: ConnectError, code: number): string[] {
  const retryAfter = error.metadata.get("retry-after");
  const headers = retryAfter === null ? [] : ["Retry-After", retryAfter];
  // RFC 9110, section 15.5.2: a 401 names the scheme that it wants.
  return code === 401 ? [...headers, "WWW-Authenticate", "Bearer"] : headers;
}
