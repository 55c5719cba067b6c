import { posix } from "node:path";
import type { Scalar } from "../../drivers/item-value.ts";

/** Mount in a server's list. Other members are sent back unchanged. */
export interface StorageRow {
  /** Greater than 0. */
  readonly id: number;
  readonly mount_path: string;
  readonly driver: string;
  /** The driver's items as JSON text, secrets in clear. */
  readonly addition: string;
  /** `work`, `disabled`, the error of the last mount, or empty: mounting, or interrupted. */
  readonly status: string;
  readonly disabled: boolean;
  readonly [member: string]: unknown;
}

/** Number that JavaScript would round, in its original text (`JSON.rawJSON`). */
interface RawNumber {
  readonly rawJSON: string;
}

/** Members of an addition. Numbers beyond 2^53 and unusual notations keep their text. */
export type Addition = Readonly<Record<string, unknown>>;

/** `JSON` with the source text of numbers (ES2026), which the types of ES2024 do not have. */
const SourceJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
};

/** @returns the members of an addition; undefined when the text is not a JSON object. */
export function readAddition(text: string): Addition | undefined {
  try {
    const value = SourceJson.parse(text === "" ? "{}" : text, (_key, one, context) =>
      typeof one === "number" && context?.source !== undefined && String(one) !== context.source
        ? SourceJson.rawJSON(context.source)
        : one,
    );
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? (value as Addition)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Value of a member for comparisons. An absent one has the server's zero value: empty text, 0 or false. */
export function plainValue(value: unknown, like: Scalar): unknown {
  if (value === undefined || value === null)
    return typeof like === "string" ? "" : typeof like === "number" ? 0 : false;
  if (typeof value === "object" && "rawJSON" in value) return Number(value.rawJSON);
  return value;
}

/**
 * Normalizes a mount path as servers do: forward slashes, a leading slash, no dot segments, no
 * trailing slash.
 */
export function cleanPath(path: string): string {
  const clean = posix.normalize(`/${path.replaceAll("\\", "/")}`);
  return clean === "/" ? clean : clean.replace(/\/+$/, "");
}

/** Reports whether a value is a row of a list of mounts. */
export function isStorageRow(value: unknown): value is StorageRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(row["id"]) &&
    (row["id"] as number) > 0 &&
    typeof row["disabled"] === "boolean" &&
    ["mount_path", "driver", "addition", "status"].every((name) => typeof row[name] === "string")
  );
}
