// Parts of a backup file that clients send: a call ignores the others, which may be large.

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../is-object.ts";

/** Lists of a backup of a server's page that an import reads, by the parts that read them. */
const LISTS: Readonly<Record<string, string>> = {
  settings: "settings",
  mounts: "storages",
  rules: "metas",
};

/** Members of a server's row that no mount has. */
const NOT_IMPORTED = new Set(["id", "status", "modified", "mount_details"]);

/**
 * Document for ImportArchive. Of a backup of a server's page, lists that are not read are replaced by
 * their lengths, for the report. A bare list becomes the `data` of a reply.
 *
 * @param only chosen parts; empty: all. @returns undefined for other JSON than an object or a list.
 */
export function importDocument(
  document: JsonValue,
  only: readonly string[] = [],
): JsonObject | undefined {
  if (Array.isArray(document)) return { data: document.map(withoutStates) };
  if (!isObject(document)) return undefined;
  if ("format" in document) return document;
  const isPageBackup = Object.values(LISTS).some((list) => list in document);
  if (!isPageBackup) return trimmedReply(document);
  const isRead = (name: string): boolean =>
    Object.entries(LISTS).some(
      ([part, list]) => list === name && (only.length === 0 || only.includes(part)),
    );
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value];
      return [name, isRead(name) ? value.map(withoutStates) : value.length];
    }),
  );
}

/** The rows of a list reply (`data`, `content`). */
function trimmedReply(document: JsonObject): JsonObject {
  const rows = rowsOf(document);
  return rows === undefined ? document : { data: rows.map(withoutStates) };
}

function rowsOf(document: JsonValue | undefined): readonly JsonValue[] | undefined {
  if (Array.isArray(document)) return document;
  if (!isObject(document)) return undefined;
  return rowsOf(document["content"] ?? document["data"]);
}

/** A row of storages without what its server adds. Encrypted rows have the same members. */
function withoutStates(row: JsonValue): JsonValue {
  if (!isObject(row) || !("mount_path" in row)) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => !NOT_IMPORTED.has(name)));
}
