import type { HandlerContext } from "@connectrpc/connect";
import { createGlob } from "../database/glob.ts";
import { Call, callKey } from "../gateway/call.ts";
import { denied, type ServiceError, type Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/** Scopes of tokens. */
export const SCOPES = [
  "settings:read",
  "settings:reveal",
  "settings:write",
  "settings:delete",
  "history:read",
  "history:rollback",
  "backup:export",
  "backup:import",
  "drivers:read",
  "sites:read",
  "sites:manage",
  "mounts:read",
  "mounts:write",
  "mounts:reveal",
  "rules:read",
  "rules:write",
  "rules:reveal",
  "users:read",
  "users:write",
  "incidents:read",
  "incidents:acknowledge",
  "webhooks:manage",
  "tokens:manage",
  "audit:read",
] as const;

/** Scopes that another scope requires and therefore includes. */
const INCLUDED: Readonly<Record<string, readonly string[]>> = {
  "settings:reveal": ["settings:read"],
  "settings:write": ["settings:read"],
  "settings:delete": ["settings:read"],
  "history:rollback": ["history:read"],
  "sites:manage": ["sites:read"],
  "mounts:write": ["mounts:read"],
  "mounts:reveal": ["mounts:read"],
  "rules:write": ["rules:read"],
  "rules:reveal": ["rules:read"],
  "users:write": ["users:read"],
  "incidents:acknowledge": ["incidents:read"],
  // A webhook shows the incidents of all sites.
  "webhooks:manage": ["incidents:read"],
};

/** Scopes that limits can apply to. */
const LIMITED = /^(settings|history|backup|drivers|mounts|rules):/;
const MAX_LIMITS = 100;
/** Maximum number of characters of all limits of a token: lists compare each setting with all of them. */
const MAX_LIMITS_LENGTH = 4_096;
/** Maximum number of scopes in a request, including repeats. */
const MAX_SCOPES = 100;

/** Nouns whose records are named by a path in limits, such as `mount:/films*`. */
export type PathNoun = "mount" | "rule";

/** Rights of a caller. One object per set of scopes and limits. */
export interface Grant {
  /** Whether every right is granted: the permanent admin token, or a command on the database itself. */
  readonly isRoot: boolean;
  /** Sorted, with included scopes. */
  readonly scopes: readonly string[];
  /** In their original notation; empty: no limit. */
  readonly limits: readonly string[];
  has(scope: string): boolean;
  /**
   * Reports whether the limits permit a setting.
   *
   * @param group undefined: unknown, which matches no group.
   */
  allows(key: string, group: number | undefined): boolean;
  /** Reports whether the limits permit a record that is named by a path. */
  allowsPath(noun: PathNoun, path: string): boolean;
}

/** Principal and actor of the permanent admin token. */
export const ADMIN_NAME = "admin";

/** Rights of the permanent admin token. */
export const ROOT: Grant = {
  isRoot: true,
  scopes: [...SCOPES].sort(),
  limits: [],
  has: () => true,
  allows: () => true,
  allowsPath: () => true,
};

/** Rights of an unauthenticated client. */
export const NOTHING: Grant = {
  isRoot: false,
  scopes: [],
  limits: [],
  has: () => false,
  allows: () => false,
  allowsPath: () => false,
};

/** Creates the grant of validated scopes and limits. */
export function createGrant(scopes: readonly string[], limits: readonly string[]): Grant {
  const all = new Set(scopes.flatMap((scope) => [scope, ...(INCLUDED[scope] ?? [])]));
  const tests = limits.map(testOf);
  const pathTests = limits.map(pathTestOf);
  return {
    isRoot: false,
    scopes: [...all].sort(),
    limits,
    has: (scope) => all.has(scope),
    allows:
      tests.length === 0
        ? () => true
        : (key, group) => tests.some((matches) => matches?.(key, group) === true),
    allowsPath:
      pathTests.length === 0
        ? () => true
        : (noun, path) => pathTests.some((matches) => matches?.(noun, path) === true),
  };
}

/** Reports whether a holder may grant rights: only rights that they have. */
export function covers(holder: Grant, given: Grant): boolean {
  if (holder.isRoot) return true;
  return holder.limits.length === 0 && given.scopes.every((scope) => holder.has(scope));
}

/** Returns the problems of scopes and limits, each with its field. */
export function grantProblems(scopes: readonly string[], limits: readonly string[]): Violation[] {
  const known = new Set<string>(SCOPES);
  if (scopes.length > MAX_SCOPES)
    return [{ field: "scopes", description: message("SCOPES_REPEATED", { count: SCOPES.length }) }];
  const problems = scopes.flatMap((scope, at): Violation[] =>
    known.has(scope)
      ? []
      : [
          {
            field: `scopes[${at}]`,
            description: message("SCOPE_UNKNOWN", {
              scope: quoted(scope),
              scopes: SCOPES.join(", "),
            }),
          },
        ],
  );
  if (scopes.length === 0)
    problems.push({
      field: "scopes",
      description: message("SCOPES_MISSING", { scopes: SCOPES.join(", ") }),
    });
  if (limits.length > MAX_LIMITS)
    problems.push({
      field: "limits",
      description: message("TOO_MANY_LIMITS", { most: MAX_LIMITS }),
    });
  else if (limits.reduce((sum, { length }) => sum + length, 0) > MAX_LIMITS_LENGTH)
    problems.push({
      field: "limits",
      description: message("LIMITS_TOO_LONG", { most: MAX_LIMITS_LENGTH }),
    });
  for (const [at, limit] of limits.slice(0, MAX_LIMITS).entries())
    if (testOf(limit) === undefined && pathTestOf(limit) === undefined)
      problems.push({
        field: `limits[${at}]`,
        description: message("LIMIT_INVALID", { limit: quoted(limit) }),
      });
  const whole = scopes.find((scope) => known.has(scope) && !LIMITED.test(scope));
  if (limits.length > 0 && whole !== undefined)
    problems.push({
      field: "limits",
      description: message("SCOPE_TAKES_NO_LIMIT", { scope: whole }),
    });
  return problems;
}

/**
 * Share of a space that all callers use, which the holder of a grant may fill. The rest is left for
 * holders without limits, and the last tenth for root.
 */
export function shareOf({ isRoot, limits }: Pick<Grant, "isRoot" | "limits">): number {
  if (isRoot) return 1;
  return limits.length === 0 ? 0.9 : 0.75;
}

/** PERMISSION_DENIED that names the limits of the token and nothing outside of them. */
export function outsideLimits({ limits }: Grant): ServiceError {
  const shown = limits.slice(0, 5).join(", ");
  return denied(message("OUTSIDE_LIMITS", { limits: limits.length > 5 ? `${shown}, …` : shown }));
}

type Test = (key: string, group: number | undefined) => boolean;

function testOf(limit: string): Test | undefined {
  const [, digits] = /^group:(\d{1,9})$/.exec(limit) ?? [];
  if (digits !== undefined) return (_key, group) => group === Number(digits);
  const [, glob] = /^key:([\w.*-]{1,255})$/.exec(limit) ?? [];
  return glob === undefined ? undefined : createGlob(glob);
}

/**
 * Pattern of the paths of mounts or rules, where `*` matches any text; `mount:/path/*` matches
 * everything below a path.
 */
function pathTestOf(limit: string): ((noun: PathNoun, path: string) => boolean) | undefined {
  const [, limited, glob] = /^(mount|rule):(\/[^\p{Cc}]{0,254})$/u.exec(limit) ?? [];
  if (glob === undefined) return undefined;
  const matches = createGlob(glob);
  return (noun, path) => noun === limited && matches(path);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** The owner of a token. */
export interface Caller {
  /** Name in the history. */
  readonly name: string;
  /** Id of the token; empty for the permanent token. */
  readonly tokenId: string;
  readonly grant: Grant;
  /** Expiry, in milliseconds since 1970 UTC; undefined: it does not expire. */
  readonly until?: number | undefined;
}

/** Review of the rights of calls that take long. */
export interface RightReview {
  /** Aborts the call when its token ends. @returns a function that ends this. */
  hold(call: Call): () => void;
  /** @throws UNAUTHENTICATED when the token of the call has ended or its rights have changed. */
  renew(call: Call): Promise<void>;
}

/**
 * Runs the work of a call that takes long or waits: its signal is aborted when the right of the caller
 * ends.
 *
 * @param work gets a function that checks the right at once. @throws UNAUTHENTICATED.
 */
export async function whileAllowed<T>(
  context: HandlerContext,
  work: (renew: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const call = context instanceof Call ? context : context.values.get(callKey);
  const review = admissionOf(call)?.review;
  // A command on the database itself has no token.
  if (!(call instanceof Call) || review === undefined) return work(async () => undefined);
  const end = review.hold(call);
  try {
    return await work(() => {
      context.signal.throwIfAborted();
      return review.renew(call);
    });
  } finally {
    end();
  }
}

/** The right by which a call was admitted. The gateway carries it as the call's opaque `principal`. */
export class Admission {
  readonly grant: Grant;
  /** Id of the token; empty for the permanent token. */
  readonly tokenId: string;
  /** The token as sent, kept while the call runs: the end of the token ends the call's stream. */
  readonly token: string;
  /** Time of the admission, from `performance.now()`. */
  readonly at: number;
  /** Expiry, in milliseconds since 1970 UTC; undefined: it does not expire. */
  until: number | undefined;
  readonly review: RightReview | undefined;

  constructor(caller: Caller, token: string, at: number, review?: RightReview) {
    this.review = review;
    this.grant = caller.grant;
    this.tokenId = caller.tokenId;
    this.until = caller.until;
    this.token = token;
    this.at = at;
  }
}

/** The admission of a call; undefined for a public method or before the admission. */
export function admissionOf(
  call: { readonly principal?: unknown } | undefined,
): Admission | undefined {
  const principal = call?.principal;
  return principal instanceof Admission ? principal : undefined;
}

/** Grant of the caller: none before admission; root for a command on the database itself. */
export function grantOf(context: Pick<HandlerContext, "values">): Grant {
  if (context instanceof Call) return admissionOf(context)?.grant ?? NOTHING;
  const info = context.values.get(callKey);
  return info === undefined || info.transport === "cli"
    ? ROOT
    : (admissionOf(info)?.grant ?? NOTHING);
}
