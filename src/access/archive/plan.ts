import { readMembers } from "../../archive/member.ts";
import {
  type ArchiveCaller,
  type ArchiveEntry,
  authorOf,
  type EntryResult,
  entryResult,
} from "../../archive/part.ts";
import { isObject } from "../../is-object.ts";
import { refusalOf } from "../../messages/error.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import { checkName, newPrincipal } from "../principal.ts";
import type { AccessTransaction, StoredPrincipal, StoredToken } from "../store.ts";
import { tokenSecret } from "./entry.ts";
import { readToken, rightsProblem } from "./token.ts";

/** Maximum number of tokens of a principal of an import. */
const MAX_TOKENS = 1_000;

/** Reads of the state before an import. */
export type Known = Pick<AccessTransaction, "principalNamed" | "token" | "tokenCount">;

/** Planned change of a principal and its tokens by one entry of an archive. */
export interface PrincipalPlan {
  readonly name: string;
  readonly result: EntryResult;
  /** The principal, if it is new or changed. */
  readonly principal?: StoredPrincipal;
  readonly tokens: readonly StoredToken[];
  /** Number of tokens that do not exist yet. */
  readonly added: number;
}

export interface PrincipalPlanDeps {
  readonly known: Known;
  readonly caller: ArchiveCaller;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly randomBytes: (size: number) => Buffer;
}

export async function planPrincipal(
  entry: ArchiveEntry,
  deps: PrincipalPlanDeps,
): Promise<PrincipalPlan> {
  const { known, caller, now, randomBytes } = deps;
  const { name, content } = entry;
  const nameProblem = refusalOf(() => checkName(name))?.text;
  if (nameProblem !== undefined) return skipped(entry, nameProblem);
  const members = readMembers(content);
  const kind = members.choice("kind", ["program", "person"]);
  const createdAt = members.time("created") ?? now;
  const createdBy = authorOf(members, "createdBy", caller);
  const disabledAt = members.time("disabled") ?? null;
  const { tokens: listed = [] } = content;
  const invalid = members.problem() ?? listProblem(listed);
  if (invalid !== undefined) return skipped(entry, invalid);
  const before = await known.principalNamed(name);
  const after: StoredPrincipal =
    before === undefined
      ? { ...newPrincipal(name, kind, createdBy, createdAt, randomBytes), disabledAt }
      : { ...before, disabledAt: before.disabledAt ?? disabledAt };
  const { tokens, added, leftOut, missing, notes } = await planTokens(
    listed as readonly unknown[],
    { entry, principalId: after.id },
    deps,
  );
  const isDisabled = before !== undefined && before.disabledAt === null && disabledAt !== null;
  const differs = [...(isDisabled ? ["disabled"] : []), ...tokens.map(({ id }) => memberOf(id))];
  const outcome = before === undefined ? "created" : differs.length > 0 ? "changed" : "unchanged";
  return {
    name,
    tokens,
    added,
    ...((before === undefined || isDisabled) && { principal: after }),
    result: entryResult(name, outcome, {
      differs: before === undefined ? [] : differs,
      leftOut,
      missing,
      note: notes[0] ?? (missing.length > 0 ? message("TOKENS_WITHOUT_HASH") : ""),
    }),
  };
}

function skipped({ name }: ArchiveEntry, note: Text): PrincipalPlan {
  return { name, result: entryResult(name, "skipped", { note }), tokens: [], added: 0 };
}

function listProblem(tokens: unknown): Text | undefined {
  if (!Array.isArray(tokens))
    return message("BACKUP_MEMBER_INVALID", { name: "tokens", form: message("FORM_LIST") });
  if (tokens.length <= MAX_TOKENS) return undefined;
  return message("BACKUP_TOO_MANY", { part: "tokens", count: tokens.length, most: MAX_TOKENS });
}

function memberOf(tokenId: string): string {
  return `tokens.${tokenId}`;
}

/** Planned changes of the tokens of an entry. */
interface TokensPlan {
  /** New and changed tokens. */
  readonly tokens: StoredToken[];
  /** Number of tokens that do not exist yet. */
  added: number;
  readonly leftOut: string[];
  /** Names of secrets without a value. */
  readonly missing: string[];
  /** Why tokens are left out. */
  readonly notes: Text[];
}

async function planTokens(
  listed: readonly unknown[],
  { entry, principalId }: { readonly entry: ArchiveEntry; readonly principalId: string },
  deps: PrincipalPlanDeps,
): Promise<TokensPlan> {
  const { caller, now } = deps;
  const plan: TokensPlan = { tokens: [], added: 0, leftOut: [], missing: [], notes: [] };
  const ids = new Set(listed.map((each) => isObject(each) && each["id"]));
  for (const [at, given] of listed.entries()) {
    const read = readToken(given, principalId, caller, now);
    if ("problem" in read) {
      plan.leftOut.push(memberOf(read.id || String(at)));
      plan.notes.push(read.problem);
      continue;
    }
    const { token: whole } = read;
    // Only the permanent token names a successor that is not in the entry.
    const isForeign = whole.replacedBy !== null && !ids.has(whole.replacedBy);
    const token = isForeign && !caller.grant.isRoot ? { ...whole, replacedBy: null } : whole;
    await planToken(plan, token, ownValue(entry.secrets, tokenSecret(token.id)), deps);
  }
  return plan;
}

/** @param hash - of the token; undefined: the entry does not have it. */
async function planToken(
  plan: TokensPlan,
  token: StoredToken,
  hash: ArchiveEntry["secrets"][string] | undefined,
  { known, caller }: PrincipalPlanDeps,
): Promise<void> {
  const { id } = token;
  const leaveOut = (note: Text): void => {
    plan.leftOut.push(memberOf(id));
    plan.notes.push(note);
  };
  const stored = await known.token(id);
  if (stored !== undefined && stored.principalId !== token.principalId)
    return leaveOut(message("TOKEN_OF_ANOTHER", { id }));
  if (hash !== undefined && !HASH.test(String(hash)))
    return leaveOut(message("TOKEN_HASH_INVALID", { id }));
  // An earlier import did not have the hash.
  const isIncomplete = stored?.hash === "";
  if (stored !== undefined && !isIncomplete) return;
  if (hash === undefined) plan.missing.push(tokenSecret(id));
  if (stored === undefined) {
    plan.added += 1;
    plan.tokens.push({ ...token, hash: String(hash ?? "") });
    return;
  }
  if (hash === undefined) return;
  // The hash gives the rights of the stored token, not those of the entry.
  const refusal = rightsProblem(stored, caller);
  if (refusal === undefined) plan.tokens.push({ ...stored, hash: String(hash) });
  else leaveOut(refusal);
}

/** SHA-256 in base64url. */
const HASH = /^[\w-]{43}$/;
