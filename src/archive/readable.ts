import { Code } from "@connectrpc/connect";
import { JsonSyntaxError, parseJsonInTicks } from "../files/json-source.ts";
import { ServiceError } from "../messages/error.ts";
import type { Text } from "../messages/message.ts";
import { message } from "../messages/message.ts";

/**
 * Limits of an import, far above the size of a site (a full one has 250 settings in 100 kB), so that
 * one file cannot use much memory.
 */
export const LIMITS = {
  /** Maximum size of a backup file, and of a table of a database. 10,000 mounts have about 8 MiB. */
  bytes: 32 * 1024 * 1024,
  /** Maximum nesting of arrays and objects. */
  depth: 32,
  /** Maximum number of settings in one file or database. */
  settings: 20_000,
  /** Maximum number of storages in one database: that of mounts. */
  storages: 10_000,
  /** Maximum number of invalid members that one error lists. */
  violations: 100,
} as const;

/** INVALID_ARGUMENT: the backup cannot be read. The message never quotes its content. */
export function unreadable(text: Text): ServiceError {
  return new ServiceError(Code.InvalidArgument, text);
}

/**
 * Parses the text of a backup in ticks of the event loop. JSON.parse would quote the text around an
 * error, secrets among it.
 *
 * @param signal ends it.
 * @throws INVALID_ARGUMENT with line and column.
 */
export async function parseBackupJson(text: string, signal?: AbortSignal): Promise<unknown> {
  checkSize(Buffer.byteLength(text));
  try {
    return await parseJsonInTicks(text.replace(/^\uFEFF/, ""), LIMITS.depth, signal);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { line, column } = error.position;
    throw unreadable(message("BACKUP_NOT_JSON", { line, column, reason: error.message }));
  }
}

/** @throws INVALID_ARGUMENT above the limit. */
export function checkSize(bytes: number): void {
  if (bytes > LIMITS.bytes)
    throw unreadable(
      message("BACKUP_TOO_LARGE", { bytes, most: LIMITS.bytes, mebibytes: LIMITS.bytes / 2 ** 20 }),
    );
}
