import { readMembers, timeMember } from "../archive/member.ts";
import {
  type ArchiveCaller,
  type ArchiveEntry,
  authorOf,
  chosenOf,
  type EntryResult,
  entryResult,
  type SecretValue,
  type StorePart,
} from "../archive/part.ts";
import { actorOf, doneEntry } from "../audit/entry.ts";
import { isObject } from "../is-object.ts";
import { refusalOf } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { createTicks } from "../ticks.ts";
import type { Change } from "./change.ts";
import { covers, createGrant, grantProblems } from "./grant.ts";
import { checkName, checkPrincipalCount, newPrincipal } from "./principal.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessTransaction, StoredPrincipal, StoredToken } from "./store.ts";
import { checkComment, checkTokenCount } from "./token.ts";

/** Maximum number of principals of an import. */
const MAX_PRINCIPALS = 10_000;
/** Maximum number of tokens of a principal of an import. */
const MAX_TOKENS = 1_000;

export interface AccessPartDeps {
  readonly registry: Pick<AccessRegistry, "fresh" | "principals" | "tokens" | "now">;
  readonly change: Change;
  readonly randomBytes: (size: number) => Buffer;
}

/** Reads of the state before an import. */
type Known = Pick<AccessTransaction, "principalNamed" | "token" | "tokenCount">;

/**
 * Principals in archives, with the definitions of their tokens. The hash of a token is its secret: with
 * it, the token is accepted after an import; without it, `token rotate` creates a successor with the
 * same rights. An import never gives a token rights that the caller lacks, never changes a token that
 * exists, and never enables a disabled principal. Only the permanent token states who created or
 * revoked something; for others, that is the caller.
 */
export function createAccessPart({ registry, change, randomBytes }: AccessPartDeps): StorePart {
  return {
    kind: "store",
    name: "principals",
    exportScope: "tokens:manage",
    importScopes: ["tokens:manage"],
    most: MAX_PRINCIPALS,
    export: async ({ grant, names, withSecrets }) => {
      await registry.fresh();
      const tokens = Map.groupBy(registry.tokens(), ({ principalId }) => principalId);
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.principals(), names)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((principal) => toEntry(principal, tokens.get(principal.id) ?? [], isShown)),
      };
    },
    write: async ({ entries = [] }, { caller, dryRun, signal }) => {
      if (entries.length === 0) return [];
      await registry.fresh();
      const now = registry.now();
      const planOn = async (known: Known): Promise<readonly Plan[]> => {
        const ticks = createTicks(signal);
        const plans: Plan[] = [];
        for (const entry of entries) {
          if (ticks.isDue()) await ticks.next();
          plans.push(await planPrincipal(entry, known, caller, now));
        }
        const created = plans.filter(({ result }) => result.outcome === "created");
        if (created.length > 0) checkPrincipalCount(registry, created.length);
        const added = plans.reduce((sum, plan) => sum + plan.added, 0);
        if (added > 0) await checkTokenCount(known, added);
        return plans;
      };
      if (dryRun) return (await planOn(replicaOf(registry))).map(({ result }) => result);
      const planned = await planOn(replicaOf(registry));
      if (planned.every(isNothing)) return planned.map(({ result }) => result);
      return change(async (transaction) => {
        const plans = await planOn(transaction);
        const audit = plans
          .filter((plan) => !isNothing(plan))
          .map(({ name, tokens }) =>
            doneEntry(caller.origin, now, [name, ...tokens.map(({ id }) => actorOf(name, id))], {
              tokens: tokens.length,
            }),
          );
        await transaction.write({
          principals: plans.flatMap(({ principal }) => principal ?? []),
          tokens: plans.flatMap(({ tokens }) => tokens),
          audit,
        });
        return plans.map(({ result }) => result);
      });
    },
  };

  async function planPrincipal(
    entry: ArchiveEntry,
    known: Known,
    caller: ArchiveCaller,
    now: number,
  ): Promise<Plan> {
    const { name, content } = entry;
    const skip = (note: Text): Plan => ({
      name,
      result: entryResult(name, "skipped", { note }),
      tokens: [],
      added: 0,
    });
    const problem = refusalOf(() => checkName(name))?.text;
    if (problem !== undefined) return skip(problem);
    const members = readMembers(content);
    const kind = members.choice("kind", ["program", "person"]);
    const createdAt = members.time("created") ?? now;
    const createdBy = authorOf(members, "createdBy", caller);
    const disabledAt = members.time("disabled") ?? null;
    const { tokens: listed = [] } = content;
    const invalid = members.problem() ?? listProblem(listed);
    if (invalid !== undefined) return skip(invalid);
    const before = await known.principalNamed(name);
    const after: StoredPrincipal =
      before === undefined
        ? { ...newPrincipal(name, kind, createdBy, createdAt, randomBytes), disabledAt }
        : { ...before, disabledAt: before.disabledAt ?? disabledAt };
    const tokens: StoredToken[] = [];
    let added = 0;
    const leftOut: string[] = [];
    const missing: string[] = [];
    const notes: Text[] = [];
    const ids = new Set((listed as readonly unknown[]).map((each) => isObject(each) && each["id"]));
    for (const [at, given] of (listed as readonly unknown[]).entries()) {
      const read = readToken(given, after.id, caller, now);
      if ("problem" in read) {
        leftOut.push(`tokens.${read.id || at}`);
        notes.push(read.problem);
        continue;
      }
      const { token: whole } = read;
      // Only the permanent token names a successor that is not in the entry.
      const isForeign = whole.replacedBy !== null && !ids.has(whole.replacedBy);
      const token = isForeign && !caller.grant.isRoot ? { ...whole, replacedBy: null } : whole;
      const stored = await known.token(token.id);
      const hash = ownValue(entry.secrets, tokenSecret(token.id));
      const isReadable = hash === undefined || HASH.test(String(hash));
      if (stored !== undefined && stored.principalId !== after.id) {
        leftOut.push(`tokens.${token.id}`);
        notes.push(message("TOKEN_OF_ANOTHER", { id: token.id }));
      } else if (!isReadable) {
        leftOut.push(`tokens.${token.id}`);
        notes.push(message("TOKEN_HASH_INVALID", { id: token.id }));
      } else if (stored === undefined) {
        added += 1;
        tokens.push({ ...token, hash: String(hash ?? "") });
        if (hash === undefined) missing.push(tokenSecret(token.id));
      } else if (stored.hash === "") {
        // An earlier import did not have the hash.
        // The hash gives the rights of the stored token, not those of the entry.
        const refusal = rightsProblem(stored, caller);
        if (hash === undefined) missing.push(tokenSecret(token.id));
        else if (refusal === undefined) tokens.push({ ...stored, hash: String(hash) });
        else {
          leftOut.push(`tokens.${token.id}`);
          notes.push(refusal);
        }
      }
    }
    const isDisabled = before !== undefined && before.disabledAt === null && disabledAt !== null;
    const differs = [
      ...(isDisabled ? ["disabled"] : []),
      ...tokens.map(({ id }) => `tokens.${id}`),
    ];
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
}

/** Change of one principal. */
interface Plan {
  readonly name: string;
  readonly result: EntryResult;
  /** The principal, if it is new or changed. */
  readonly principal?: StoredPrincipal;
  readonly tokens: readonly StoredToken[];
  /** Number of tokens that do not exist yet. */
  readonly added: number;
}

function isNothing({ principal, tokens }: Plan): boolean {
  return principal === undefined && tokens.length === 0;
}

function replicaOf(registry: Pick<AccessRegistry, "principals" | "tokens">): Known {
  const principals = new Map(registry.principals().map((each) => [each.name, each]));
  const tokens = new Map(Array.from(registry.tokens(), (token) => [token.id, token]));
  return {
    principalNamed: async (name) => principals.get(name),
    token: async (id) => tokens.get(id),
    tokenCount: async () => tokens.size,
  };
}

function listProblem(tokens: unknown): Text | undefined {
  if (!Array.isArray(tokens))
    return message("BACKUP_MEMBER_INVALID", { name: "tokens", form: "a list" });
  if (tokens.length <= MAX_TOKENS) return undefined;
  return message("BACKUP_TOO_MANY", { part: "tokens", count: tokens.length, most: MAX_TOKENS });
}

const ID = /^[0-9A-Za-z]{12}$/;
/** SHA-256 in base64url. */
const HASH = /^[\w-]{43}$/;

function tokenSecret(id: string): string {
  return `tokens/${id}`;
}

function toEntry(
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

/** Reads the definition of a token. A token that the caller could not create is not imported. */
function readToken(
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
      return message("BACKUP_MEMBER_INVALID", { name, form: "12 letters and digits" });
  const [violation] = grantProblems(scopes, limits);
  if (violation !== undefined) return violation.description;
  const refusal = rightsProblem(token, caller);
  if (refusal !== undefined) return refusal;
  return refusalOf(() => checkComment(comment))?.text;
}

/** Problem of the rights of a token that the caller lacks. */
function rightsProblem(
  { scopes, limits }: Pick<StoredToken, "scopes" | "limits">,
  { grant }: ArchiveCaller,
): Text | undefined {
  const given = createGrant(scopes, limits);
  if (covers(grant, given)) return undefined;
  return message("SCOPES_NOT_HELD", {
    scopes: given.scopes.filter((scope) => !grant.has(scope)).join(", "),
  });
}
