import { create, createRegistry, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  LocalizedMessageSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { Fault, type Reason } from "../transport/body.ts";
import { jsonText } from "./serialize.ts";

/**
 * A request that never reaches an rpc: its HTTP status is the real one, for any setting of
 * documented paths, and the envelope is its body.
 */
export class HttpFault extends Fault {
  override readonly status: number;
  override readonly reason: Reason | undefined;

  /** @param headers of the reply, such as `{ allow: "GET, HEAD" }`. */
  constructor(status: number, message: string, headers?: Readonly<Record<string, string>>) {
    const [code, reason] = KINDS.get(status) ?? [Code.InvalidArgument];
    super(message, code, { ...headers });
    this.status = status;
    this.reason = reason;
  }
}

const KINDS: ReadonlyMap<number, readonly [code: Code, reason: Reason]> = new Map([
  [404, [Code.NotFound, "PATH_NOT_FOUND"]],
  [405, [Code.Unimplemented, "METHOD_NOT_ALLOWED"]],
  [415, [Code.InvalidArgument, "MEDIA_TYPE_UNSUPPORTED"]],
]);

/** Error of a reply that is longer than its method permits. */
export function tooLargeReply(size: number, limit: number): ConnectError {
  const message = `the reply has ${size} bytes, more than its limit of ${limit} bytes (writeMaxBytes)`;
  return new ConnectError(message, Code.ResourceExhausted);
}

/** Headers of an error without those of a body or a protocol, which the reply has itself. */
export function ownHeaders<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.filter(([name]) => !/^(?:content|grpc|connect)-/.test(name)));
}

/** Text of a client's value for a message: quoted as JSON, cut at 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/**
 * The envelope's `code` for each canonical code. OUT_OF_RANGE is a client error as well: the
 * requested position does not exist any more, or not yet.
 */
export const ENVELOPE_CODE: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 500,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

/** A field of a request with its problem. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** An error as a client sees it. */
export interface Failure {
  /** The envelope's code. */
  readonly code: number;
  /** The HTTP status is `code`, for any setting of documented paths. */
  readonly real: boolean;
  readonly message: string;
  readonly violations: readonly Violation[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the error is internal and its message is masked. */
  readonly unexpected: boolean;
  /** The failure as a ConnectError. */
  readonly error: ConnectError;
  /** The HTTP status without an envelope: that of the code (google/rpc/code.proto). */
  readonly httpStatus: number;
}

const INTERNAL = 500;
/** The status of CANCELLED (google/rpc/code.proto). */
const CLIENT_CLOSED = 499;
const MASKED = "internal error";

/**
 * Converts an error to a failure for clients: a ConnectError by the table of codes, an HttpFault
 * and Fastify's own errors with their status, anything else masked as 500. Never throws.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof Fault && error.status !== undefined)
    return { ...known(error, error.status, error.metadata), real: true };
  if (error instanceof Fault && error.envelopeCode !== undefined)
    return known(error, error.envelopeCode, error.metadata);
  if (error instanceof ConnectError) {
    const code = ENVELOPE_CODE[error.code] ?? INTERNAL;
    if (code !== INTERNAL) return known(error, code);
    const httpStatus = error.code === Code.Canceled ? CLIENT_CLOSED : INTERNAL;
    return { ...masked(error), unexpected: false, error, httpStatus };
  }
  const { statusCode = INTERNAL } = (error ?? {}) as { readonly statusCode?: number };
  if (statusCode < 400 || statusCode >= INTERNAL) return masked(error);
  const words = FRAMEWORK_WORDS.get(statusCode) ?? "the request can't be read";
  return { ...known(new HttpFault(statusCode, words), statusCode), real: true };
}

/** Fastify's own errors, with messages for people. */
const FRAMEWORK_WORDS: ReadonlyMap<number, string> = new Map([
  [400, "the request can't be read: check URL, headers and body"],
  [404, "nothing is served here"],
  [405, "this method is not served here"],
  [408, "the request took too long to arrive"],
  [413, "the body is too large"],
  [414, "the URL is too long"],
  [415, "this content type is not supported"],
]);

function masked(cause: unknown): Failure {
  return {
    code: INTERNAL,
    real: false,
    message: MASKED,
    violations: [],
    headers: {},
    unexpected: true,
    error: new ConnectError(MASKED, Code.Internal, undefined, undefined, cause),
    httpStatus: INTERNAL,
  };
}

/** @param own headers of the reply. */
function known(error: ConnectError, code: number, own?: Headers): Failure {
  const retryAfter = error.metadata.get("retry-after");
  const [info] = error.findDetails(ErrorInfoSchema);
  return {
    code,
    real: false,
    message: error.rawMessage.toWellFormed() || nameOf(error.code),
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap((detail) => detail.fieldViolations)
      .map(({ field, description }) => ({ field, description })),
    headers: {
      ...(own && Object.fromEntries(own)),
      ...(retryAfter === null ? {} : { "retry-after": retryAfter }),
      ...(info === undefined ? {} : errorInfoHeaders(info)),
      // RFC 9110, section 15.5.2: a 401 names the required scheme.
      ...(code === 401 ? { "www-authenticate": "Bearer" } : {}),
    },
    unexpected: false,
    error,
    httpStatus: code,
  };
}

/** Adds `google.rpc.ErrorInfo` to an error that has a reason. */
export function addReason(error: Fault, domain: string): void {
  const { reason, rawMessage, details } = error;
  if (reason === undefined || details.length > 0) return;
  const metadata = { problem: rawMessage.toWellFormed() };
  details.push({ desc: ErrorInfoSchema, value: { reason, domain, metadata } });
}

/** Name of a code as text, such as "not found". */
function nameOf(code: Code): string {
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** Maximum length of `error-metadata`, in characters: clients and proxies limit headers. */
const MAX_METADATA = 2_048;

/** `google.rpc.ErrorInfo` as headers: the envelope is a fixed contract without a member for it. */
function errorInfoHeaders({ reason, metadata }: ErrorInfo): Record<string, string> {
  // JSON escapes keep the header in ASCII (RFC 9110, section 5.5).
  const text = JSON.stringify(metadata).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const isShown = Object.keys(metadata).length > 0 && text.length <= MAX_METADATA;
  return { "error-reason": reason, ...(isShown ? { "error-metadata": text } : {}) };
}

/** Message in the client's language. */
export interface Localized {
  readonly locale: string;
  readonly message: string;
}

/**
 * Envelope of a failure: `data` is null, or lists the violations. A localized message is added to
 * the English one.
 */
export function errorEnvelope(
  code: number,
  message: string,
  violations: readonly Violation[] = [],
  localized?: Localized,
): string {
  const listed = violations.map(({ field, description }) => ({ field, description }));
  const data = listed.length > 0 ? { violations: listed } : null;
  return jsonText({
    code,
    message,
    data,
    ...(localized && {
      localized_message: { locale: localized.locale, message: localized.message },
    }),
  });
}

/** The failure's envelope as JSON text. */
export function failureEnvelope(failure: Failure): string {
  const [localized] = failure.error.findDetails(LocalizedMessageSchema);
  return errorEnvelope(failure.code, failure.message, failure.violations, localized);
}

const knownDetails = createRegistry(file_google_rpc_error_details);

/**
 * The failure as google.rpc.Status in JSON, for replies without an envelope. Details of unknown
 * types are omitted.
 *
 * @param registry of types besides those of google/rpc/error_details.proto.
 */
export function failureBody({ error }: Failure, registry?: Registry): string {
  return jsonText(failureStatus(error, registry));
}

/** Like failureStatusText, as a value. */
export function failureStatus(error: ConnectError, registry?: Registry): JsonValue {
  const types = registry ? createRegistry(knownDetails, registry) : knownDetails;
  const details = error.details.flatMap((detail) => {
    if ("desc" in detail) return [anyPack(detail.desc, create(detail.desc, detail.value))];
    if (types.getMessage(detail.type) === undefined) return [];
    const typeUrl = `type.googleapis.com/${detail.type}`;
    return [create(AnySchema, { typeUrl, value: detail.value })];
  });
  const inTypes = createRegistry(
    types,
    ...error.details.flatMap((detail) => ("desc" in detail ? [detail.desc] : [])),
  );
  const json = details.map((detail) => toJson(AnySchema, detail, { registry: inTypes }));
  return {
    code: error.code,
    ...(error.rawMessage === "" ? {} : { message: error.rawMessage.toWellFormed() }),
    ...(json.length === 0 ? {} : { details: json }),
  };
}

/**
 * Returns the error with a well-formed message: one that was cut within a character cannot be
 * encoded in trailers (RFC 3986, section 2.1), and some clients cannot parse it in JSON.
 */
export function wellFormed(error: ConnectError): ConnectError {
  const { rawMessage, code, metadata, details, cause } = error;
  if (rawMessage.isWellFormed()) return error;
  const whole = new ConnectError(rawMessage.toWellFormed(), code, metadata, undefined, cause);
  whole.details = details;
  return whole;
}
