import { timeMember } from "../../archive/member.ts";
import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import type { StoredPrincipal, StoredToken } from "../store.ts";

/** Name of the secret of an entry that is the hash of a token. */
export function tokenSecret(id: string): string {
  return `tokens/${id}`;
}

/** @param isShown - whether hashes are written; otherwise they are only named. */
export function toEntry(
  principal: StoredPrincipal,
  tokens: readonly StoredToken[],
  isShown: boolean,
): ArchiveEntry {
  const { name, kind, createdAt, createdBy, disabledAt } = principal;
  const sorted = tokens.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  const secrets: Record<string, SecretValue> = Object.fromEntries(
    sorted.filter(({ hash }) => hash !== "").map(({ id, hash }) => [tokenSecret(id), hash]),
  );
  const lost = sorted.filter(({ hash }) => hash === "").map(({ id }) => tokenSecret(id));
  return {
    name,
    content: {
      kind,
      created: timeMember(createdAt),
      createdBy,
      ...(disabledAt !== null && { disabled: timeMember(disabledAt) }),
      tokens: sorted.map(tokenToJson),
    },
    secrets: isShown ? secrets : {},
    missing: isShown ? lost : [...Object.keys(secrets), ...lost],
    isSealed: false,
  };
}

function tokenToJson(token: StoredToken): Record<string, unknown> {
  const { id, scopes, limits, comment, createdAt, createdBy, replacedBy, revokedBy } = token;
  const times = { expires: token.expiresAt, validUntil: token.notAfter, revoked: token.revokedAt };
  return {
    id,
    scopes,
    limits,
    comment,
    created: timeMember(createdAt),
    createdBy,
    ...Object.fromEntries(
      Object.entries(times).flatMap(([name, time]) =>
        time === null ? [] : [[name, timeMember(time)]],
      ),
    ),
    ...(replacedBy !== null && { replacedBy }),
    ...(revokedBy !== null && { revokedBy }),
  };
}
