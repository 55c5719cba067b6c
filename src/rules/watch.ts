import type { Snapshot } from "../ledger/snapshot.ts";
import type { Watched } from "../records/watch.ts";
import type { Site } from "../sites/site.ts";
import type { Rule } from "./rule.ts";
import type { RuleStatus } from "./rule-status.ts";

/** Rule with all that a stream shows of it. The same object until one of the members changes. */
export interface WatchedRule {
  readonly rule: Rule;
  readonly statuses: readonly RuleStatus[];
}

/** All rules at one time. */
export type WatchedRules = Watched<WatchedRule, WatchedSource>;

/** Sources of the watched rules besides their states on sites. */
export interface WatchedSource {
  readonly snapshot: Snapshot;
  readonly sites: readonly Site[];
}

export function isSameWatched(a: WatchedRule, b: WatchedRule): boolean {
  return a.rule === b.rule && areEqual(a.statuses, b.statuses);
}

/** Compares statuses apart from the time of the last read, which is no event. */
function areEqual(a: readonly RuleStatus[], b: readonly RuleStatus[]): boolean {
  const textOf = (statuses: readonly RuleStatus[]): string =>
    JSON.stringify(statuses.map((status) => ({ ...status, readAt: 0 })));
  return a.length === b.length && textOf(a) === textOf(b);
}
