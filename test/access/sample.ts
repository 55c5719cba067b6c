import type { StoredPrincipal, StoredToken } from "../../src/access/store.ts";

export function samplePrincipal(changes: Partial<StoredPrincipal> = {}): StoredPrincipal {
  return {
    id: "p",
    name: "program",
    kind: "program",
    createdAt: 0,
    createdBy: "admin",
    disabledAt: null,
    ...changes,
  };
}

/** A token of the principal `p` without an end. */
export function sampleToken(changes: Partial<StoredToken> = {}): StoredToken {
  return {
    id: "0aB1cD2eF3gH",
    hash: "h",
    principalId: "p",
    scopes: ["settings:read"],
    limits: [],
    comment: "",
    createdAt: 0,
    createdBy: "admin",
    expiresAt: null,
    notAfter: null,
    replacedBy: null,
    revokedAt: null,
    revokedBy: null,
    ...changes,
  };
}
