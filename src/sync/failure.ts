import { certificateReason, isCertificateError } from "../certificate-error.ts";
import { message, type Text } from "../messages/message.ts";
import { redact } from "../secrets/redact.ts";

/**
 * Cause of a failed call to a site.
 * - `unreachable`: no connection, or it broke. The call may have been executed.
 * - `silent`: no answer in time, also while its storages are loading. The call may have been
 * executed.
 * - `tls`: the certificate is not the expected one, or the server does not use TLS.
 * - `redirect`: a redirect to another address.
 * - `foreign`: the answer is not that of a server of this kind, or not at this path.
 * - `mooring`: the answer is that of a Mooring.
 * - `loading`: the site reports that it is loading.
 * - `unauthorized`: the token is refused. `forbidden`: it is not an admin's.
 * - `too_large`: the answer is larger than any list of records.
 * - `refused`: the site understood and refused the call.
 */
export type SiteFailureKind =
  | "unreachable"
  | "silent"
  | "tls"
  | "redirect"
  | "foreign"
  | "mooring"
  | "loading"
  | "unauthorized"
  | "forbidden"
  | "too_large"
  | "refused";

/** Failed call to a site, with a message for the operator. It contains no secrets. */
export class SiteFailure extends Error {
  override readonly name = "SiteFailure";
  readonly kind: SiteFailureKind;
  readonly text: Text;
  /** Message of the site: its first line, without secrets; empty: none. */
  readonly words: string;
  /** Code of the site's envelope; 0: none. */
  readonly code: number;

  constructor(
    kind: SiteFailureKind,
    text: Text,
    {
      cause,
      words = "",
      code = 0,
    }: { readonly cause?: unknown; readonly words?: string; readonly code?: number } = {},
  ) {
    super(String(text), cause === undefined ? {} : { cause });
    this.kind = kind;
    this.text = text;
    this.words = words;
    this.code = code;
  }
}

/** Reports whether the call may have been executed. */
export function isUncertain({ kind }: SiteFailure): boolean {
  return kind === "unreachable" || kind === "silent" || kind === "too_large";
}

/** Reports whether a retry cannot succeed before an operator has acted. */
export function isLasting({ kind }: { readonly kind: string }): boolean {
  return kind === "unauthorized" || kind === "forbidden" || kind === "mooring";
}

const MAX_MESSAGE = 300;

/**
 * First line of a site's message, at most 300 characters, without secrets (`redact`), characters
 * that control a terminal or the direction of text, and halves of surrogate pairs. Sites add stack
 * traces and paths.
 */
export function plainMessage(message: string, secrets: readonly string[]): string {
  // A secret may have several lines: it is removed before the first line is taken.
  const [line = ""] = redact(message, secrets).split("\n", 1);
  const cut = line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
  return cut.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Converts an error of node:http, node:net or node:tls. */
export function networkFailure(error: unknown, at: string): SiteFailure {
  if (error instanceof SiteFailure) return error;
  const { code = "", message: words = "" } = (error ?? {}) as { code?: string; message?: string };
  if (isCertificateError(code))
    return new SiteFailure(
      "tls",
      message("CERTIFICATE_NOT_TRUSTED", { at, reason: certificateReason(words) }),
      { cause: error },
    );
  if (NO_TLS.test(code)) return new SiteFailure("tls", message("NO_TLS", { at }), { cause: error });
  const reason = connectionReason(code, new URL(at).protocol) ?? (code || message("CAUSE_BROKEN"));
  return new SiteFailure("unreachable", message("UNREACHABLE", { at, reason }), { cause: error });
}

/** Short reason without an address, for a client whose request is forwarded. */
export function forwardingReason({
  code = "",
  message: words,
}: Error & { readonly code?: string }): Text {
  if (isCertificateError(code)) return message("CERTIFICATE_UNKNOWN", { code });
  if (NO_TLS.test(code)) return message("UPSTREAM_NO_TLS");
  return connectionReason(code) ?? (code || words);
}

const NO_TLS = /^(EPROTO|ERR_SSL_)/;

/**
 * Reason of a failed connection in words; undefined: another code.
 *
 * @param protocol of the address, such as `http:`; empty: not known to the reader.
 */
export function connectionReason(code: string, protocol = ""): Text | undefined {
  // Many TLS servers close the connection of a client that begins without TLS.
  if (protocol === "http:" && CLOSED.test(code)) return message("CAUSE_CLOSED_PLAIN");
  return REASONS.find(([codes]) => codes.test(code))?.[1];
}

const CLOSED = /^(ECONNRESET|EPIPE)$/;

const REASONS: readonly (readonly [RegExp, Text])[] = [
  [/^ECONNREFUSED$/, message("CAUSE_REFUSED")],
  [/^(ENOTFOUND|EAI_AGAIN)$/, message("CAUSE_NAME_UNKNOWN")],
  [CLOSED, message("CAUSE_CLOSED")],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, message("CAUSE_NO_ANSWER")],
  [/^HPE_/, message("NOT_HTTP")],
];
