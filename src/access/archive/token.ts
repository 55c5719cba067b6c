import { readMembers } from "../../archive/member.ts";
import { type ArchiveCaller, authorOf } from "../../archive/part.ts";
import { isObject } from "../../is-object.ts";
import { refusalOf } from "../../messages/error.ts";
import { message, type Text } from "../../messages/message.ts";
import { covers, createGrant, grantProblems } from "../grant.ts";
import type { StoredToken } from "../store.ts";
import { checkComment } from "../token.ts";

const ID = /^[0-9A-Za-z]{12}$/;
/** Reads the definition of a token. A token that the caller could not create is not imported. */
export function readToken(
  given: unknown,
  principalId: string,
  caller: ArchiveCaller,
  now: number,
): { readonly token: StoredToken } | { readonly problem: Text; readonly id: string } {
  const members = readMembers(isObject(given) ? given : {});
  const id = members.text("id");
  const replacedBy = members.text("replacedBy");
  const revokedAt = members.time("revoked") ?? null;
  const token: StoredToken = {
    id,
    principalId,
    hash: "",
    scopes: [...new Set(members.texts("scopes"))],
    limits: [...new Set(members.texts("limits"))],
    comment: members.text("comment"),
    createdAt: members.time("created") ?? now,
    createdBy: authorOf(members, "createdBy", caller),
    expiresAt: members.time("expires") ?? null,
    notAfter: members.time("validUntil") ?? null,
    replacedBy: replacedBy === "" ? null : replacedBy,
    revokedAt,
    revokedBy: revokedAt === null ? null : authorOf(members, "revokedBy", caller),
  };
  const problem = members.problem() ?? tokenProblem(token, caller);
  return problem === undefined ? { token } : { problem, id: ID.test(id) ? id : "" };
}

function tokenProblem(token: StoredToken, caller: ArchiveCaller): Text | undefined {
  const { id, scopes, limits, comment, replacedBy } = token;
  for (const [name, value] of Object.entries({ id, replacedBy: replacedBy ?? id }))
    if (!ID.test(value))
      return message("BACKUP_MEMBER_INVALID", { name, form: message("FORM_TOKEN_ID") });
  const [violation] = grantProblems(scopes, limits);
  if (violation !== undefined) return violation.description;
  const refusal = rightsProblem(token, caller);
  if (refusal !== undefined) return refusal;
  return refusalOf(() => checkComment(comment))?.text;
}

/** Problem of the rights of a token that the caller lacks. */
export function rightsProblem(
  { scopes, limits }: Pick<StoredToken, "scopes" | "limits">,
  { grant }: ArchiveCaller,
): Text | undefined {
  const given = createGrant(scopes, limits);
  if (covers(grant, given)) return undefined;
  return message("SCOPES_NOT_HELD", {
    scopes: given.scopes.filter((scope) => !grant.has(scope)).join(", "),
  });
}
