import type { ChangeRow, RevisionRow, SettingRow } from "../database/schema.ts";
import type { StoredChange, StoredRevision, StoredSetting } from "./store.ts";

/** Converts a row. Rows never leave the store: each type of row has two converters here. */
export function settingFromRow(row: SettingRow): StoredSetting {
  const { group_id, ...rest } = row;
  return { ...rest, group: group_id };
}

export function settingToRow(setting: StoredSetting): SettingRow {
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
    old_value: change.oldValue,
    new_value: change.newValue,
    old_hash: change.oldHash,
    new_hash: change.newHash,
    old_definition: change.oldDefinition,
    new_definition: change.newDefinition,
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
    oldValue: row.old_value,
    newValue: row.new_value,
    oldHash: row.old_hash,
    newHash: row.new_hash,
    oldDefinition: row.old_definition,
    newDefinition: row.new_definition,
  };
}
