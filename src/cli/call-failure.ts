import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { certificateReason, isCertificateError } from "../certificate-error.ts";
import { nearest } from "../suggestion.ts";
import type { Connection, SettingClient } from "./connection.ts";
import { CliFailure, EXIT, type ExitCode } from "./failure.ts";

/** Exit code of each status: a status that is missing here is a compile error. */
const EXIT_OF: Readonly<Record<Code, ExitCode>> = {
  [Code.Canceled]: EXIT.unavailable,
  [Code.Unknown]: EXIT.failed,
  [Code.InvalidArgument]: EXIT.refused,
  [Code.DeadlineExceeded]: EXIT.unavailable,
  [Code.NotFound]: EXIT.notFound,
  [Code.AlreadyExists]: EXIT.conflict,
  [Code.PermissionDenied]: EXIT.unauthenticated,
  [Code.ResourceExhausted]: EXIT.failed,
  [Code.FailedPrecondition]: EXIT.refused,
  [Code.Aborted]: EXIT.conflict,
  // A revision that is no longer kept.
  [Code.OutOfRange]: EXIT.notFound,
  [Code.Unimplemented]: EXIT.failed,
  [Code.Internal]: EXIT.failed,
  [Code.Unavailable]: EXIT.unavailable,
  [Code.DataLoss]: EXIT.failed,
  [Code.Unauthenticated]: EXIT.unauthenticated,
};

/** A call whose connection broke or whose time limit ended before the answer. */
export class UnansweredCall extends Error {
  override readonly name = "UnansweredCall";
  override readonly cause: ConnectError;
  /** Part of the message: what the call may have changed, or the command that shows it. */
  readonly note: string;

  constructor(cause: ConnectError, note: string) {
    super(cause.message);
    this.cause = cause;
    this.note = note;
  }
}

/** Note of a short call that changes something. */
const MAYBE_CHANGED =
  'a change may have been made nevertheless: "mooring history" and "mooring audit list" show it';

/**
 * Explains a failed call and selects the exit code.
 *
 * @param note of a call without an answer. Default: that a change may have been made, unless the call
 *   only reads.
 */
export function explainCall(
  error: ConnectError,
  connection: Connection,
  note = connection.lastCall?.isRead === true ? "" : MAYBE_CHANGED,
): CliFailure {
  const { place, tokenSource, offline } = connection;
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ description }) => asArgument(description)),
    );
  const { code } = error;
  const message = asArgument(error.rawMessage);
  const fail = (text: string, lines: readonly string[] = []): CliFailure =>
    new CliFailure(EXIT_OF[code], text, lines);
  // A single violation is the message itself.
  if (violations.length > 1)
    return fail(`nothing was saved: ${violations.length} values are wrong`, violations);
  if (offline) return fail(message);
  if (code === Code.Unauthenticated)
    return fail(`${place} refused the token of ${tokenSource}: ${message}`);
  if (code === Code.Unimplemented)
    return fail(
      `${place} does not have this call (${message}): check that it is a Mooring of the version of this command`,
    );
  if (isAnswer(error)) return fail(message);
  if (code === Code.DeadlineExceeded)
    return fail(
      [
        `${place} did not answer within ${connection.lastCall?.limit ?? "the time limit"}`,
        ...(note === "" ? [] : [`; ${note}`]),
        ". --timeout sets a longer limit",
      ].join(""),
    );
  if (code === Code.ResourceExhausted) return fail(`the request is too large (${message})`);
  if (isBroken(error)) return new CliFailure(EXIT.unavailable, explainBroken(error, place, note));
  return fail(`${place} sent a reply that is not from Mooring (${message}): check the address`);
}

/** Names a value of the mount in a save as the command line does: `order`, `address@home`. */
function asArgument(text: string): string {
  return text
    .replace(/^mounts\[0\]\.overrides\.(\S+)\.(?:config|members)\.(\w+)/, "$2@$1")
    .replace(/^mounts\[0\]\.(?:config\.|members\.)?/, "");
}

/** Reports whether the service answered: each of its replies has this header. */
function isAnswer({ metadata }: ConnectError): boolean {
  return metadata.has("x-request-id");
}

/** Reports whether a call ended without an answer of the service. */
export function isUnanswered(error: unknown): error is ConnectError {
  if (!(error instanceof ConnectError)) return false;
  return isBroken(error) || (error.code === Code.DeadlineExceeded && !isAnswer(error));
}

/** Reports whether the connection failed or broke. */
function isBroken(error: ConnectError): boolean {
  const { code } = error;
  if (isAnswer(error)) return false;
  const isOfConnection = [Code.Unavailable, Code.Aborted, Code.Canceled].includes(code);
  return isOfConnection || systemError(error) !== undefined;
}

interface SystemError extends Error {
  readonly code: string;
}

/** Network error that caused a failed call. */
function systemError(error: Error): SystemError | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && typeof cause.code === "string") return cause as SystemError;
  return undefined;
}

const CLOSED = "ECONNRESET";

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "nothing listens there"],
  [/^ENOENT$/, "there is no such socket"],
  [/^(EACCES|EPERM)$/, "permission denied"],
  [/^(ENOTFOUND|EAI_AGAIN)$/, "the host name is unknown"],
  [/^(EPROTO|ERR_SSL_)/, "the server at this address does not use TLS"],
  [/^ERR_HTTP2_/, "the server at this address does not use HTTP/2"],
  [/^(ECONNRESET|EPIPE)$/, "the connection was closed"],
];

/** Advice if the connection is closed: many TLS servers do so if a client begins without TLS. */
const PERHAPS_TLS = "; if it uses TLS, write its address with https://";

const OWN_AUTHORITY = "; NODE_EXTRA_CA_CERTS=/path/ca.pem adds your own certificate authority";

/** Errors of a connection on which the service may have received the call. */
const MAYBE_RECEIVED = /^(ECONNRESET|EPIPE|ERR_HTTP2_.*|)$/;

function explainBroken(error: ConnectError, place: string, note: string): string {
  const { code = "", message = error.rawMessage } = systemError(error) ?? {};
  // Alerts about the client's certificate (RFC 8446, section 6.2).
  if (/ALERT_(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE)/.test(code))
    return `${place} requires a client certificate: set MOORING_CLIENT_CERT_FILE and MOORING_CLIENT_KEY_FILE`;
  if (/ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA)/.test(code))
    return `${place} refuses the certificate of MOORING_CLIENT_CERT_FILE: ${message}`;
  if (/KEY_VALUES_MISMATCH|^ERR_OSSL_(PEM|X509|ASN1)/.test(code))
    return `MOORING_CLIENT_CERT_FILE and MOORING_CLIENT_KEY_FILE do not match: ${message}`;
  if (isCertificateError(code))
    return `the certificate of ${place} is not trusted: ${certificateReason(message)}${/SELF_SIGNED|ISSUER|LEAF_SIGNATURE/.test(code) ? OWN_AUTHORITY : ""}`;
  // Without a system error, the connection was closed below an open HTTP/2 stream.
  const key = code === "" && error.code === Code.Canceled ? CLOSED : code;
  const [, found = message] = REASONS.find(([codes]) => codes.test(key)) ?? [];
  const isPlain = !/^(https|unix):/.test(place);
  const reason =
    isPlain && /^(ECONNRESET|EPIPE|ERR_HTTP2_)/.test(key) ? `${found}${PERHAPS_TLS}` : found;
  const maybe = note !== "" && MAYBE_RECEIVED.test(key) ? `; ${note}` : "";
  return `no service answers at ${place} (${reason}): check that it is running, and its address (--address or MOORING_ADDRESS)${maybe}`;
}

/**
 * Reads by keys. If the service does not know one of them, the failure suggests the nearest key.
 *
 * @param hint added to that failure.
 */
export async function withNearestKey<T>(
  settings: SettingClient,
  keys: readonly string[],
  read: () => Promise<T>,
  hint = "",
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const meant = await nearestKey(settings, keys);
    const question = meant === undefined ? "" : `: did you mean ${meant}?`;
    throw new CliFailure(EXIT.notFound, `${error.rawMessage}${question}${hint}`);
  }
}

/** Reports whether a call has failed with NOT_FOUND. */
export function isNotFound(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.NotFound;
}

/** Nearest key to the first unknown one; undefined: none is similar. */
async function nearestKey(
  client: SettingClient,
  keys: readonly string[],
): Promise<string | undefined> {
  const { settings } = await client.listSettings({ maskSecrets: true });
  const known = settings.map(({ key }) => key);
  const unknown = keys.find((key) => !known.includes(key)) ?? "";
  return nearest(unknown, known)[0];
}
