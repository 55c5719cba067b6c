import type { JsonValue } from "@bufbuild/protobuf";

/** Code of a successful envelope. */
const SUCCESS_CODE = 200;

/** Content-Type of every envelope and of bare JSON. */
export const JSON_TYPE = "application/json; charset=utf-8";

/** A field of a request with its problem. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** The envelope of a successful reply with this JSON text. */
export function successEnvelope(data: string): string {
  return `{"code":${SUCCESS_CODE},"message":"success","data":${data}}`;
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
  return jsonText({
    code,
    message,
    data: violations.length > 0 ? listed(violations) : null,
    ...(localized === undefined
      ? {}
      : { localized_message: { locale: localized.locale, message: localized.message } }),
  });
}

/**
 * JSON text that is safe in HTML and in scripts: `<`, `>`, `&` and the line separators U+2028 and
 * U+2029 are escaped. They can occur in strings only.
 */
export function jsonText(value: JsonValue): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function listed(violations: readonly Violation[]): JsonValue {
  return { violations: violations.map(({ field, description }) => ({ field, description })) };
}
