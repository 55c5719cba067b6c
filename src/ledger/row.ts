import type { ChangeRow, RevisionRow, SettingRow } from "../database/schema.ts";
import type { StoredChange, StoredRecord, StoredRevision } from "./store.ts";

/** Converts a row. Rows never leave the store: each type of row has two converters here. */
export function settingFromRow(row: SettingRow): StoredRecord {
  const { group_id, ...rest } = row;
  return { ...rest, group: group_id };
}

export function settingToRow(setting: StoredRecord): SettingRow {
  return {
    key: setting.key,
    value: setting.value,
    type: setting.type,
    options: setting.options,
    help: setting.help,
    group_id: setting.group,
    flag: setting.flag,
    origin: setting.origin,
    position: setting.position,
    revision: setting.revision,
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
    key: change.key,
    old_value: change.oldBody,
    new_value: change.newBody,
    old_hash: change.oldHash,
    new_hash: change.newHash,
    old_definition: change.oldAttributes,
    new_definition: change.newAttributes,
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
    key: row.key,
    oldBody: row.old_value,
    newBody: row.new_value,
    oldHash: row.old_hash,
    newHash: row.new_hash,
    oldAttributes: row.old_definition,
    newAttributes: row.new_definition,
  };
}
