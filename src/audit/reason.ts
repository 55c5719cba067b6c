import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/** Header (or metadata) with the reason of a change. */
export const REASON_HEADER = "x-change-reason";

/** The same as bytes of UTF-8 in base64, as gRPC metadata has them. */
export const REASON_BINARY_HEADER = `${REASON_HEADER}-bin`;

/**
 * Reason of a change from a header. Its bytes are UTF-8; `%` with two hexadecimal digits is a byte,
 * because fetch and gRPC metadata have no other form for text beyond ASCII. Any other `%` is itself.
 *
 * @param header as Node reads it: one character for each byte.
 * @throws INVALID_ARGUMENT for bytes that are not UTF-8.
 */
export function readReason(header: string): string {
  if (!/[%\x80-\uffff]/.test(header)) return header;
  // A header of an interceptor may be text already.
  const isText = /[^\0-\xff]/.test(header);
  const bytes = Buffer.from(header, isText ? "utf8" : "latin1").toString("latin1");
  const plain = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return decode(Buffer.from(plain, "latin1"), REASON_HEADER);
}

/**
 * Like readReason, from the header in base64, with or without padding.
 *
 * @throws INVALID_ARGUMENT for text that is not base64, or bytes that are not UTF-8.
 */
export function readBinaryReason(header: string): string {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(header)) throw refused(REASON_BINARY_HEADER);
  return decode(Buffer.from(header, "base64"), REASON_BINARY_HEADER);
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array, header: string): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw refused(header);
  }
}

function refused(header: string) {
  return invalid([{ field: header, description: message("HEADER_NOT_TEXT", { name: header }) }]);
}
