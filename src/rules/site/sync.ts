import { createRateLimit } from "../../rate-limit.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { createRecordSync, type RecordSync } from "../../sync/record-sync.ts";
import type { Sync } from "../../sync/sync.ts";
import type { WantedRule } from "../rule.ts";
import { createRuleClient } from "./client.ts";
import { type RuleRound, runRuleRound } from "./round.ts";
import { isWaiting, type RuleRegistry, type RuleState, type SiteRules } from "./state.ts";

/** Interval of reading a site's rules while no work is pending, in milliseconds. */
const READ_INTERVAL = 60_000;
/** Interval after a change. */
const REREAD_INTERVAL = 10_000;
/** Maximum number of sites with concurrent work. */
const CONCURRENCY = 16;
/** Minimum interval between the starts of work on two rules of any sites, in milliseconds. */
const MIN_INTERVAL = 4;
/** Maximum wait for the work of another process, in milliseconds. */
const MAX_WAIT = 30_000;

export interface RuleSyncDeps {
  readonly sync: Sync<Site>;
  readonly sites: Pick<SiteRegistry, "sites" | "byId" | "state">;
  readonly registry: RuleRegistry;
  readonly now: () => number;
  /** Desired rules of a site, with its overrides applied. */
  readonly wantedOf: (site: Site) => readonly WantedRule[];
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?: { readonly read?: number; readonly reread?: number } | undefined;
}

/** Reconciler of the folder rules of sites. */
export type RuleSync = RecordSync<Site, RuleState, never, RuleRound>;

/** Adds folder rules to the reconciler of sites. */
export function createRuleSync(deps: RuleSyncDeps): RuleSync {
  const { sync, sites, registry, now } = deps;
  const { read = READ_INTERVAL, reread = REREAD_INTERVAL } = deps.times ?? {};
  const rateLimit = createRateLimit(MIN_INTERVAL);
  return createRecordSync<Site, RuleState, SiteRules, never, RuleRound>({
    ...deps,
    concurrency: CONCURRENCY,
    maxWait: MAX_WAIT,
    round: (site, options, on) =>
      runRuleRound(options, {
        ...deps,
        registry: on,
        rateLimit,
        client: createRuleClient(sync.clientOf(site)),
        wanted: () => deps.wantedOf(site),
        lacksUsers: () => sites.state(site.id).kind === "alist",
        mayWrite: () => sync.isLeader() && sites.byId(site.id)?.paused === false,
        follows: () => sites.byId(site.id)?.mode === "follow",
      }),
    pauseAfter: (siteId, { done }) => {
      const tries = [...registry.records(siteId).values()].flatMap((state) =>
        isWaiting(state, now()) ? [state.nextTry - now()] : [],
      );
      return Math.max(0, Math.min(done.length > 0 ? reread : read, ...tries));
    },
    isOpen: (state) => state === undefined || (state.creating && state.error === ""),
  });
}
