import { Code } from "@connectrpc/connect";
import { actorOf, doneEntry } from "../audit/entry.ts";
import {
  denied,
  failedPrecondition,
  invalid,
  notFound,
  rejectViolations,
  ServiceError,
} from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type Page, type PageRequest, type Place, pageOf } from "../messages/page.ts";
import type { AccessCaller, Change } from "./change.ts";
import { type ExpiringToken, expiresSoon, expiringTokens, unrenewedTokens } from "./expiry.ts";
import { covers, createGrant, type Grant, grantProblems } from "./grant.ts";
import { checkName, checkPrincipalCount, newPrincipal } from "./principal.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore, AccessTransaction, StoredToken, TokenUse } from "./store.ts";
import { makeToken } from "./token-text.ts";

interface TokenInput extends Lifetime {
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly limits: readonly string[];
  readonly comment: string;
}

interface RotateInput {
  readonly id: string;
  /** Milliseconds; undefined: 24 hours. */
  readonly overlap: number | undefined;
  readonly expiresAt: number | undefined;
}

/** Token with its principal. */
export interface TokenView {
  readonly token: StoredToken;
  readonly principal: string;
  readonly isActive: boolean;
  /** Whether it is valid and expires soon without a successor. */
  readonly expiresSoon: boolean;
  readonly use: TokenUse | undefined;
}

/** A token with its text, which is shown once. */
type NewTokenView = TokenView & { readonly text: string };

/** Filter for tokens. */
interface TokenQuery extends PageRequest {
  /** Name of the principal; empty: all. */
  readonly principal: string;
  /** Only tokens that are valid now. */
  readonly active: boolean;
}

/** Tokens of principals. */
export interface TokenService {
  /** Newest first. @throws INVALID_ARGUMENT for an invalid page size or token. */
  tokens(query: TokenQuery): Promise<Page<TokenView>>;
  /** Tokens that expire soon, the earliest first. */
  expiringTokens(): readonly ExpiringToken[];
  /** Tokens whose end is an incident. */
  unrenewedTokens(): readonly ExpiringToken[];
  /** Creates the principal if it does not exist. */
  createToken(input: TokenInput, caller: AccessCaller): Promise<NewTokenView>;
  rotateToken(input: RotateInput, caller: AccessCaller): Promise<NewTokenView>;
  revokeToken(id: string, caller: AccessCaller): Promise<TokenView>;
}

interface TokenDeps {
  readonly store: Pick<AccessStore, "uses">;
  readonly registry: Pick<
    AccessRegistry,
    "tokens" | "principals" | "principalOf" | "isActive" | "now" | "readings"
  >;
  readonly change: Change;
  readonly randomBytes: (size: number) => Buffer;
}

export function createTokenService(deps: TokenDeps): TokenService {
  const newestFirst = createSortedTokens(deps.registry);
  return {
    tokens: (query) => listTokens(deps, newestFirst(), query),
    expiringTokens: () => expiringTokens(deps.registry),
    unrenewedTokens: () => unrenewedTokens(deps.registry),
    createToken: (input, caller) => createToken(deps, input, caller),
    rotateToken: (input, caller) => rotateToken(deps, input, caller),
    revokeToken: (id, caller) => revokeToken(deps, id, caller),
  };
}

/** Sorts the tokens once after each change, for all pages of a list. The newest is the first. */
function createSortedTokens(registry: TokenDeps["registry"]): () => readonly StoredToken[] {
  let sorted: { readonly tokens: readonly StoredToken[]; readonly readings: number } | undefined;
  return () => {
    const readings = registry.readings();
    if (sorted?.readings !== readings)
      sorted = { tokens: [...registry.tokens()].sort(byAge), readings };
    return sorted.tokens;
  };
}

async function listTokens(
  { registry, store }: TokenDeps,
  newestFirst: readonly StoredToken[],
  { principal, active, ...page }: TokenQuery,
): Promise<Page<TokenView>> {
  const { items, next } = pageOf(
    newestFirst,
    page,
    PLACE,
    (token) =>
      (principal === "" || registry.principalOf(token)?.name === principal) &&
      (!active || registry.isActive(token)),
  );
  const used = await store.uses(items.map(({ id }) => id));
  const uses = new Map(used.map((use) => [use.tokenId, use]));
  return { items: items.map((token) => viewOf(registry, token, uses.get(token.id))), next };
}

function viewOf(registry: TokenDeps["registry"], token: StoredToken, use?: TokenUse): TokenView {
  const isActive = registry.isActive(token);
  return {
    token,
    principal: registry.principalOf(token)?.name ?? "",
    isActive,
    expiresSoon: isActive && expiresSoon(token, registry.now()),
    use,
  };
}

async function createToken(
  { registry, change, randomBytes }: TokenDeps,
  input: TokenInput,
  caller: AccessCaller,
): Promise<NewTokenView> {
  const { principal: name, scopes, limits, comment } = input;
  checkName(name);
  checkRights(scopes, limits, caller.grant);
  checkComment(comment);
  const now = registry.now();
  const expiresAt = endOf(input, now);
  const { text, ...secret } = makeToken(randomBytes);
  const token = await change(async (transaction) => {
    await checkTokenCount(transaction);
    const known = await transaction.principalNamed(name);
    if (known !== undefined && known.disabledAt !== null)
      throw failedPrecondition(message("PRINCIPAL_DISABLED", { name: `"${name}"` }));
    if (known === undefined) checkPrincipalCount(registry);
    const principal = known ?? newPrincipal(name, "program", caller.actor, now, randomBytes);
    const token: StoredToken = {
      ...secret,
      principalId: principal.id,
      scopes: unique(scopes),
      limits: unique(limits),
      comment,
      createdAt: now,
      createdBy: caller.actor,
      expiresAt,
      notAfter: null,
      replacedBy: null,
      revokedAt: null,
      revokedBy: null,
    };
    await transaction.write({
      principals: known === undefined ? [principal] : [],
      tokens: [token],
      audit: [doneEntry(caller, now, [actorOf(name, token.id)], rightsOf(token))],
    });
    return token;
  });
  return { ...viewOf(registry, token), text };
}

async function rotateToken(
  { registry, change, randomBytes }: TokenDeps,
  { id, overlap: asked, expiresAt }: RotateInput,
  caller: AccessCaller,
): Promise<NewTokenView> {
  const overlap = overlapOf(asked);
  const now = registry.now();
  if (expiresAt !== undefined) checkEnd(expiresAt, now);
  const { text, ...secret } = makeToken(randomBytes);
  const token = await change(async (transaction) => {
    const old = await transaction.token(id);
    if (old === undefined) throw noToken(id);
    checkRights(old.scopes, old.limits, caller.grant);
    if (!registry.isActive(old, await transaction.principal(old.principalId)))
      throw failedPrecondition(message("TOKEN_TO_ROTATE_ENDED", { id }));
    if (old.replacedBy !== null)
      throw failedPrecondition(message("TOKEN_HAS_SUCCESSOR", { id, successor: old.replacedBy }));
    await checkTokenCount(transaction);
    const life = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
    const token: StoredToken = {
      ...old,
      ...secret,
      createdAt: now,
      createdBy: caller.actor,
      expiresAt: expiresAt ?? (life === null ? null : now + life),
    };
    const names = [await nameOf(old, transaction), await nameOf(token, transaction)];
    const detail = { ...rightsOf(token), overlap: `${overlap / 1000}s` };
    await transaction.write({
      tokens: [{ ...old, replacedBy: token.id, notAfter: now + overlap }, token],
      audit: [doneEntry(caller, now, names, detail)],
    });
    return token;
  });
  return { ...viewOf(registry, token), text };
}

async function revokeToken(
  { registry, change }: TokenDeps,
  id: string,
  caller: AccessCaller,
): Promise<TokenView> {
  const token = await change(async (transaction) => {
    const token = await transaction.token(id);
    if (token === undefined) throw noToken(id);
    if (token.revokedAt !== null) return token;
    const now = registry.now();
    const revoked = { ...token, revokedAt: now, revokedBy: caller.actor };
    await transaction.write({
      tokens: [revoked],
      audit: [doneEntry(caller, now, [await nameOf(token, transaction)], {})],
    });
    return revoked;
  });
  return viewOf(registry, token);
}

type Aged = Pick<StoredToken, "createdAt" | "id">;

function byAge(one: Aged, other: Aged): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1);
}

/** Position of a token in the list: its creation time and id. */
const PLACE: Place<StoredToken> = {
  of: ({ createdAt, id }) => `${createdAt}-${id}`,
  sizeOf: ({ limits, comment }) =>
    limits.reduce((sum, { length }) => sum + length + 8, 512 + comment.length),
  after: (text) => {
    const [, time, id = ""] = /^(-?\d{1,16})-([0-9A-Za-z]{12})$/.exec(text) ?? [];
    const last = { createdAt: Number(time), id };
    return time === undefined ? undefined : (token) => byAge(last, token) < 0;
  },
};

/** Name of a token in history and audit. */
async function nameOf(
  { id, principalId }: StoredToken,
  transaction: AccessTransaction,
): Promise<string> {
  return actorOf((await transaction.principal(principalId))?.name ?? "", id);
}

/** Rights of a token, for the audit. */
function rightsOf({ scopes, limits, expiresAt }: StoredToken) {
  const expires = expiresAt === null ? "never" : new Date(expiresAt).toISOString();
  return { scopes, ...(limits.length > 0 ? { limits } : {}), expires };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function noToken(id: string): ServiceError {
  return notFound(message("TOKEN_NOT_FOUND", { id: JSON.stringify(id.slice(0, 100)) }));
}

const DAY = 24 * 3_600_000;
/** Default lifetime of a token, in milliseconds. */
const DEFAULT_LIFE = 90 * DAY;
/** Default time that a rotated token remains valid, in milliseconds. */
const DEFAULT_OVERLAP = DAY;
const MAX_OVERLAP = 30 * DAY;
const MAX_TOKENS = 100_000;
const MAX_COMMENT = 200;

/** @throws INVALID_ARGUMENT; PERMISSION_DENIED for rights that the caller lacks. */
function checkRights(scopes: readonly string[], limits: readonly string[], holder: Grant): void {
  rejectViolations(grantProblems(scopes, limits));
  const given = createGrant(scopes, limits);
  if (covers(holder, given)) return;
  const missing = given.scopes.filter((scope) => !holder.has(scope));
  throw denied(message("SCOPES_NOT_HELD", { scopes: missing.join(", ") }));
}

/** @throws INVALID_ARGUMENT. */
export function checkComment(comment: string): void {
  if (comment.length > MAX_COMMENT)
    throw invalid([
      { field: "comment", description: message("COMMENT_TOO_LONG", { most: MAX_COMMENT }) },
    ]);
}

/** Requested expiry of a token. */
interface Lifetime {
  /** Milliseconds since 1970 UTC; undefined: in 90 days. */
  readonly expiresAt: number | undefined;
  readonly neverExpires: boolean;
}

/**
 * Expiry of a new token, in milliseconds since 1970 UTC; null: never.
 *
 * @throws INVALID_ARGUMENT.
 */
function endOf({ expiresAt, neverExpires }: Lifetime, now: number): number | null {
  if (neverExpires && expiresAt !== undefined)
    throw invalid([{ field: "never_expires", description: message("EXPIRY_AMBIGUOUS") }]);
  if (neverExpires) return null;
  if (expiresAt !== undefined) checkEnd(expiresAt, now);
  return expiresAt ?? now + DEFAULT_LIFE;
}

/** @throws INVALID_ARGUMENT for an invalid expiry. */
function checkEnd(end: number, now: number): void {
  if (end <= now)
    throw invalid([
      {
        field: "expire_time",
        description: message("EXPIRY_IN_PAST", { now: new Date(now).toISOString() }),
      },
    ]);
}

/**
 * Time that a token remains valid beside its successor, in milliseconds.
 *
 * @throws INVALID_ARGUMENT.
 */
function overlapOf(asked: number | undefined): number {
  const overlap = asked ?? DEFAULT_OVERLAP;
  if (overlap >= 0 && overlap <= MAX_OVERLAP) return overlap;
  throw invalid([{ field: "overlap", description: message("OVERLAP_INVALID") }]);
}

/** @param added number of tokens that a change adds. @throws RESOURCE_EXHAUSTED. */
export async function checkTokenCount(
  transaction: Pick<AccessTransaction, "tokenCount">,
  added = 1,
): Promise<void> {
  if ((await transaction.tokenCount()) + added > MAX_TOKENS)
    throw new ServiceError(
      Code.ResourceExhausted,
      message("TOO_MANY_TOKENS", { most: MAX_TOKENS }),
    );
}
