import type { Snapshot } from "../ledger/snapshot.ts";
import type { Site } from "../sites/site.ts";
import type { Collection } from "../state-feed.ts";
import { createTicks } from "../ticks.ts";
import type { Rule } from "./rule.ts";
import type { RuleStatus } from "./rule-status.ts";

/** Rule with all that a stream shows of it. The same object until one of the members changes. */
export interface WatchedRule {
  readonly rule: Rule;
  readonly statuses: readonly RuleStatus[];
}

/** All rules at one time. */
export interface WatchedRules extends Collection<WatchedRule> {
  readonly source: WatchedSource;
}

/** State from which rules are read, compared by identity: the same objects until they change. */
export interface WatchedSource {
  readonly snapshot: Snapshot;
  readonly sites: readonly Site[];
}

export function isSameSource(a: WatchedSource, b: WatchedSource): boolean {
  return a.snapshot === b.snapshot && a.sites === b.sites;
}

export interface WatchedRulesDeps {
  readonly source: () => WatchedSource;
  readonly rules: () => ReadonlyMap<string, Rule>;
  readonly statuses: (rule: Rule) => readonly RuleStatus[];
}

/** Reads all rules with their statuses, in ticks of the event loop. Unchanged items are kept. */
export async function readWatched(
  before: WatchedRules | undefined,
  { source, rules, statuses }: WatchedRulesDeps,
): Promise<WatchedRules> {
  const from = source();
  const ticks = createTicks();
  const items = new Map<string, WatchedRule>();
  const all = rules();
  let isSame = before !== undefined && before.items.size === all.size;
  for (const [path, rule] of all) {
    if (ticks.isDue()) await ticks.next();
    const old = before?.items.get(path);
    const now = { rule, statuses: statuses(rule) };
    const isKept = old !== undefined && old.rule === rule && areEqual(old.statuses, now.statuses);
    items.set(path, isKept ? old : now);
    isSame &&= isKept;
  }
  if (before !== undefined && isSame && isSameSource(before.source, from)) return before;
  return { items, source: from };
}

/** Compares statuses apart from the time of the last read, which is no event. */
function areEqual(a: readonly RuleStatus[], b: readonly RuleStatus[]): boolean {
  const textOf = (statuses: readonly RuleStatus[]): string =>
    JSON.stringify(statuses.map((status) => ({ ...status, readAt: 0 })));
  return a.length === b.length && textOf(a) === textOf(b);
}
