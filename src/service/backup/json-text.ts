import { JsonSyntaxError, parseJson } from "../json-source.ts";
import { LIMITS } from "./limits.ts";
import { unreadable } from "./unreadable.ts";

/**
 * Parses the text of a backup. JSON.parse would quote the text around an error, secrets among it.
 *
 * @throws INVALID_ARGUMENT with line and column.
 */
export function parseBackupJson(text: string): unknown {
  checkSize(Buffer.byteLength(text));
  try {
    return parseJson(text.replace(/^\uFEFF/, ""), LIMITS.depth).value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { line, column } = error.position;
    throw unreadable(
      `this is not a whole JSON document: line ${line}, column ${column}: ${error.message}`,
    );
  }
}

/** @throws INVALID_ARGUMENT above the limit. */
export function checkSize(bytes: number): void {
  if (bytes > LIMITS.bytes)
    throw unreadable(
      `this backup has ${bytes} bytes; at most ${LIMITS.bytes} (${LIMITS.bytes / 2 ** 20} MiB) are read`,
    );
}

/** @throws INVALID_ARGUMENT when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unreadable("this file is neither text in UTF-8 nor a SQLite database");
  }
}
