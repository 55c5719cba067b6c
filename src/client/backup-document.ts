// What clients send of a backup file: a call ignores the other parts, which may be large.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * Document for ImportSettings. The other lists of a backup of a server's page are replaced by their
 * lengths, for the report.
 */
export function settingsOnly(document: JsonObject): JsonObject {
  const isPageBackup = "settings" in document && !("format" in document);
  if (!isPageBackup) return document;
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [
      name,
      name !== "settings" && Array.isArray(value) ? value.length : value,
    ]),
  );
}

/** Members of a server's row that no mount has. */
const NOT_IMPORTED = new Set(["id", "status", "modified", "mount_details"]);

/**
 * Document for ImportMounts: the rows of a backup, of a reply of `storage/list` or of a list, without
 * members that no mount has. Undefined: there is no list.
 */
export function mountsOnly(document: JsonValue): JsonObject | undefined {
  const rows = rowsOf(document);
  if (rows === undefined) return undefined;
  const encrypted = isObject(document) ? document["encrypted"] : undefined;
  return {
    storages: rows.map((row) =>
      isObject(row)
        ? Object.fromEntries(Object.entries(row).filter(([name]) => !NOT_IMPORTED.has(name)))
        : row,
    ),
    ...(encrypted !== undefined && { encrypted }),
  };
}

function rowsOf(document: JsonValue | undefined): readonly JsonValue[] | undefined {
  if (Array.isArray(document)) return document;
  if (!isObject(document)) return undefined;
  return rowsOf(document["storages"] ?? document["content"] ?? document["data"]);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
