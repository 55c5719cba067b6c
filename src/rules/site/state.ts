import type { Text } from "../../messages/message.ts";
import { hasCome } from "../../periodic.ts";
import { pauseAfter } from "../../sync/back-off.ts";
import { createRecordRegistry, type RecordRegistry } from "../../sync/record-registry.ts";
import type { RecordStateStore } from "../../sync/record-state-store.ts";
import { NEW_SITE_RECORDS, type SiteRecords } from "../../sync/site-records.ts";

/**
 * Why a rule is not written to a site; empty: it is.
 * - `call`: the site has refused it. It is tried again.
 * - `users`: the site has no user of a name, or its users can't be read. It is tried again.
 * - `unsupported`: the server has no lists of users. `incomplete`: its password is lost.
 * - `unmanaged`: the site has another rule at its path, which Mooring does not manage.
 * - `taken`: another rule of Mooring is at its path there.
 * - `flapping`: another client changes it there after each correction.
 */
export type Hindrance =
  | ""
  | "call"
  | "users"
  | "unsupported"
  | "incomplete"
  | "unmanaged"
  | "taken"
  | "flapping";

/** State of one rule on one site. Values are not kept. */
export interface RuleState {
  /** Id and path of the last known row on the site; id 0: none. */
  readonly id: number;
  readonly path: string;
  /** Whether a creation has begun whose reply is unknown. Stored before the call. */
  readonly creating: boolean;
  /**
   * Whether the server's cache may have the former rule, so that the rule is sent again although
   * nothing differs. Stored before the first of the two calls.
   */
  readonly cached: boolean;
  /** Revision of the rule on the site; 0: none, and Mooring does not manage the row. */
  readonly applied: number;
  /** Revision of the last attempt, with or without success. */
  readonly tried: number;
  /** Revision of the password that was last sent. */
  readonly sent: number;
  /** Names of members that differ. */
  readonly differs: readonly string[];
  /** Whether the site's last list has no row of it. */
  readonly absent: boolean;
  readonly hindrance: Hindrance;
  /** Text of the hindrance; empty: none. */
  readonly error: Text;
  /** Time of the first of consecutive failures, in milliseconds since 1970 UTC; 0: none. */
  readonly errorSince: number;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Time of the next attempt, in milliseconds since 1970 UTC; 0: at once. */
  readonly nextTry: number;
  /** Times of recent corrections of drift. */
  readonly corrections: readonly number[];
}

export const NEW_RULE: RuleState = Object.freeze({
  id: 0,
  path: "",
  creating: false,
  cached: false,
  applied: 0,
  tried: 0,
  sent: 0,
  differs: [],
  absent: false,
  hindrance: "",
  error: "",
  errorSince: 0,
  failures: 0,
  nextTry: 0,
  corrections: [],
});

/** Reports whether Mooring manages the row of a rule: it was written, adopted or equal. */
export function isManaged({ applied, creating }: Pick<RuleState, "applied" | "creating">): boolean {
  return applied > 0 || creating;
}

/** Pauses after a failure with one rule, in milliseconds. */
const PAUSES = { first: 5_000, longest: 600_000 };

/** A state without a hindrance. */
export const FREE = {
  hindrance: "",
  error: "",
  errorSince: 0,
  failures: 0,
  nextTry: 0,
} as const satisfies Partial<RuleState>;

/** State after a hindrance. @param isTried whether a call has failed, so that a pause follows. */
export function hindered(
  before: RuleState,
  hindrance: Hindrance,
  error: Text,
  { time, isTried }: { readonly time: number; readonly isTried: boolean },
): RuleState {
  const failures = isTried ? before.failures + 1 : before.failures;
  return {
    ...before,
    hindrance,
    error,
    errorSince: before.hindrance === hindrance && before.errorSince > 0 ? before.errorSince : time,
    failures,
    nextTry: isTried ? time + pauseAfter(failures, PAUSES) : before.nextTry,
  };
}

/** Reports whether the next attempt after failures is still to come. */
export function isWaiting(
  { failures, nextTry }: Pick<RuleState, "failures" | "nextTry">,
  time: number,
): boolean {
  return !hasCome(nextTry, { now: time, longest: pauseAfter(failures, PAUSES) });
}

/** State of the rules of one site as a whole. */
export interface SiteRules extends SiteRecords {
  /** Time of the last read of the list, in milliseconds since 1970 UTC; 0: never. */
  readonly readAt: number;
  /** Paths of rules that Mooring does not manage. */
  readonly extra: readonly string[];
}

const NEW_SITE_RULES: SiteRules = Object.freeze({
  ...NEW_SITE_RECORDS,
  readAt: 0,
  extra: [],
});

/** States of the rules of all sites. */
export type RuleRegistry = RecordRegistry<RuleState, SiteRules>;

/** @param batch milliseconds for which states are collected. Default: 20. */
export function createRuleRegistry(store: RecordStateStore, batch?: number): RuleRegistry {
  return createRecordRegistry(store, { newState: NEW_RULE, newSite: NEW_SITE_RULES }, batch);
}
