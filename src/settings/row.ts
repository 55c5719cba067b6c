import type { StoredPrincipal, StoredToken } from "../access/store.ts";
import type {
  AccessTokenRow,
  ChangeRow,
  PrincipalRow,
  RevisionRow,
  SettingRow,
} from "../database/schema.ts";
import type { StoredChange, StoredRevision, StoredSetting } from "./store.ts";

/** Rows never leave the store: each type of row has a pair of converters here. */
export function settingFromRow(row: SettingRow): StoredSetting {
  const { group_id, ...rest } = row;
  return { ...rest, group: group_id, revision: Number(row.revision) };
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
    door: commit.door,
    method: commit.method,
    request_id: commit.requestId,
    peer: commit.peer,
    reason: commit.reason,
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
    revision: Number(row.revision),
    time: Number(row.time),
    actor: row.actor,
    door: row.door,
    method: row.method,
    requestId: row.request_id,
    peer: row.peer,
    reason: row.reason,
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

/** PostgreSQL hands out whole numbers of 8 bytes as text. */
function time(value: number | null): number | null {
  return value === null ? null : Number(value);
}

export function principalFromRow(row: PrincipalRow): StoredPrincipal {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    createdAt: Number(row.created_at),
    createdBy: row.created_by,
    disabledAt: time(row.disabled_at),
  };
}

export function principalToRow(principal: StoredPrincipal): Omit<PrincipalRow, "version"> {
  const { id, name, kind, createdAt, createdBy, disabledAt } = principal;
  return { id, name, kind, created_at: createdAt, created_by: createdBy, disabled_at: disabledAt };
}

export function tokenFromRow(row: AccessTokenRow): StoredToken {
  return tokenReader()(row);
}

/** Reads rows, of which many have the same texts: each text is kept once. */
export function tokenReader(): (row: AccessTokenRow) => StoredToken {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const once = <T>(kept: Map<string, T>, text: string, make: (text: string) => T): T => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = make(text);
    kept.set(text, made);
    return made;
  };
  const listOf = (json: string): readonly string[] => once(lists, json, JSON.parse);
  const textOf = (text: string): string => once(texts, text, (same) => same);
  return (row) => ({
    id: row.id,
    principalId: textOf(row.principal_id),
    hash: row.hash,
    scopes: listOf(row.scopes),
    limits: listOf(row.limits),
    comment: textOf(row.comment),
    createdAt: Number(row.created_at),
    createdBy: textOf(row.created_by),
    expiresAt: time(row.expires_at),
    notAfter: time(row.not_after),
    replacedBy: row.replaced_by,
    revokedAt: time(row.revoked_at),
    revokedBy: row.revoked_by,
  });
}

export function tokenToRow(token: StoredToken): Omit<AccessTokenRow, "version" | "ended_at"> {
  return {
    id: token.id,
    principal_id: token.principalId,
    hash: token.hash,
    scopes: JSON.stringify(token.scopes),
    limits: JSON.stringify(token.limits),
    comment: token.comment,
    created_at: token.createdAt,
    created_by: token.createdBy,
    expires_at: token.expiresAt,
    not_after: token.notAfter,
    replaced_by: token.replacedBy,
    revoked_at: token.revokedAt,
    revoked_by: token.revokedBy,
  };
}
