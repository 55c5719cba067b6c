import type { AccessTokenRow, PrincipalRow } from "../database/schema.ts";
import type { StoredPrincipal, StoredToken } from "./store.ts";

export function principalFromRow(row: PrincipalRow): StoredPrincipal {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    createdAt: row.created_at,
    createdBy: row.created_by,
    disabledAt: row.disabled_at,
  };
}

export function principalToRow(principal: StoredPrincipal): Omit<PrincipalRow, "version"> {
  const { id, name, kind, createdAt, createdBy, disabledAt } = principal;
  return { id, name, kind, created_at: createdAt, created_by: createdBy, disabled_at: disabledAt };
}

export function tokenFromRow(row: AccessTokenRow): StoredToken {
  return tokenReader()(row);
}

/** Converts rows; equal texts and lists of many rows share one object. */
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
    createdAt: row.created_at,
    createdBy: textOf(row.created_by),
    expiresAt: row.expires_at,
    notAfter: row.not_after,
    replacedBy: row.replaced_by,
    revokedAt: row.revoked_at,
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
