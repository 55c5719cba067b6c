import type { ChangeRow, RecordRow, RevisionRow } from "../database/schema.ts";
import type { PartTexts, StoredChange, StoredRecord, StoredRevision } from "./store.ts";

/** Converts a row. Rows never leave the store: each type of row has two converters here. */
export function recordFromRow(row: RecordRow): StoredRecord {
  return { ...row, secrets: row.secrets === null ? NONE : parts(row.secrets) };
}

export function recordToRow(record: StoredRecord): RecordRow {
  const { kind, key, body, attributes, secrets, position, revision } = record;
  return {
    kind,
    key,
    body,
    attributes,
    secrets: Object.keys(secrets).length === 0 ? null : JSON.stringify(secrets),
    position,
    revision,
  };
}

export function revisionToRow(commit: StoredRevision): RevisionRow {
  return {
    revision: commit.revision,
    time: commit.time,
    actor: commit.actor,
    transport: commit.transport,
    method: commit.method,
    request_id: commit.requestId,
    peer: commit.peer,
    reason: commit.reason,
    mark: commit.mark ?? "",
  };
}

export function changeToRow(revision: number, change: StoredChange): ChangeRow {
  return {
    revision,
    kind: change.kind,
    key: change.key,
    old_body: change.oldBody,
    new_body: change.newBody,
    old_attributes: change.oldAttributes,
    new_attributes: change.newAttributes,
    old_hashes: change.oldHashes && JSON.stringify(change.oldHashes),
    new_hashes: change.newHashes && JSON.stringify(change.newHashes),
  };
}

export function revisionFromRow(row: RevisionRow): StoredRevision {
  return {
    revision: row.revision,
    time: row.time,
    actor: row.actor,
    transport: row.transport,
    method: row.method,
    requestId: row.request_id,
    peer: row.peer,
    reason: row.reason,
    ...(row.mark === "" ? {} : { mark: row.mark }),
  };
}

export function changeFromRow(row: ChangeRow): StoredChange {
  return {
    kind: row.kind,
    key: row.key,
    oldBody: row.old_body,
    newBody: row.new_body,
    oldAttributes: row.old_attributes,
    newAttributes: row.new_attributes,
    oldHashes: row.old_hashes === null ? null : parts(row.old_hashes),
    newHashes: row.new_hashes === null ? null : parts(row.new_hashes),
  };
}

/** No secret parts. */
const NONE: PartTexts = Object.freeze({});

function parts(json: string): PartTexts {
  return JSON.parse(json) as PartTexts;
}
