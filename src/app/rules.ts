import type { AuditStore } from "../audit/store.ts";
import { mapWriteError } from "../database/error.ts";
import { followFeed } from "../ledger/follow-feed.ts";
import { memoize } from "../memoize.ts";
import { isRuleChange } from "../rules/kind.ts";
import type { RuleService } from "../rules/rule-service.ts";
import { createRuleView } from "../rules/rule-view.ts";
import type { RulesOnSites } from "../rules/rules-on-sites.ts";
import { createRuleService } from "../rules/service.ts";
import { createRulesBeforeMounts, type RulesBeforeMounts } from "../rules/site/before-mounts.ts";
import { createMoving, type OpensWhenMoved } from "../rules/site/moving.ts";
import { createRulesOnSites, type LiveRules } from "../rules/site/on-sites.ts";
import { createRuleRegistry } from "../rules/site/state.ts";
import { createRuleSync } from "../rules/site/sync.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import type { Sites } from "../sites/sites.ts";
import { RULE_ACTION, type SiteStore } from "../sites/store.ts";
import type { RecordStateStore } from "../sync/record-state-store.ts";
import type { Logger } from "../telemetry/log.ts";
import { recordRounds } from "./round-log.ts";
import type { SettingServices } from "./settings.ts";

/** Dependencies of folder rules. */
export interface RuleParts {
  readonly sites: Pick<Sites, "registry" | "sync">;
  readonly store: {
    readonly sites: SiteStore;
    readonly ruleStates: RecordStateStore;
    readonly audit: Pick<AuditStore, "append">;
  };
  readonly services: Pick<SettingServices, "ledger" | "feed" | "fingerprint">;
  /** File that declares a record of a part; undefined: clients change it. */
  readonly declaredBy: (part: string, name: string) => string | undefined;
  readonly log: Logger;
  /** Other intervals for the background work; undefined: those of the program. */
  readonly times?: { readonly read?: number; readonly reread?: number } | undefined;
}

/** Folder rules of sites. */
export interface OpenRules {
  readonly rules: RuleService;
  readonly onSites: RulesOnSites;
  /** Rules as the sites see them. */
  readonly kindOfSites: KindOfSites;
  /** Rules that a site gets before mounts. */
  readonly beforeMounts: RulesBeforeMounts;
  /** Calls the listener when work on the rules of a site has changed something there. */
  onWork(listener: (siteId: string) => void): void;
  /** Tries rules that wait for users again: a site has new ones. */
  retry(siteId: string): Promise<void>;
  /** Permits writes to a site: all rules that it has come from a restore. */
  manage(siteId: string): Promise<void>;
  /** Reports whether the rules of a site limit a mount less at another path. */
  readonly movingOn: (site: { readonly id: string }) => OpensWhenMoved;
  /** Forwards a change on the upstream's own pages. */
  readonly forward: LiveRules["forward"];
  endStreams(): void;
  close(): Promise<void>;
}

/** Origin of work on sites, for audit and history. */
const WORKER = { actor: "rules", transport: "", method: "rule", peer: "", requestId: "" };

/** Starts the work on the folder rules of the sites. */
export function openRules(parts: RuleParts): OpenRules {
  const { sites, store, services, log } = parts;
  const declaredBy = (path: string) => parts.declaredBy("rules", path);
  const ending = new AbortController();
  const view = createRuleView(services.ledger);
  const registry = createRuleRegistry(store.ruleStates);
  const sync = createRuleSync({
    sync: sites.sync,
    sites: sites.registry,
    registry,
    now: Date.now,
    wantedOf: view.wantedOf,
    onError: (error) => log.error({ err: error }, "failed to follow folder rules"),
    times: parts.times,
  });
  const onSites = createRulesOnSites({
    ...services,
    sites: sites.registry,
    registry,
    sync,
    view,
    declaredBy,
    audit: (entry) => mapWriteError(store.audit.append([entry])),
  });
  const rules = createRuleService({
    ...services,
    sites: sites.registry,
    onSites,
    view,
    declaredBy,
    stopping: ending.signal,
  });
  const movingBy = memoize(createMoving);
  const record = recordRounds({
    action: RULE_ACTION,
    worker: WORKER,
    store: store.sites,
    ledger: services.ledger,
    log,
  });
  sync.onRound((site, { done }) =>
    record(
      site,
      done.map(({ step, ...each }) => ({ ...each, steps: step === undefined ? [] : [step] })),
    ),
  );
  // Applies committed rules to the sites immediately; after a gap of the feed, all of them.
  const following = followFeed(services.feed, ending.signal, (commits) => {
    if (commits?.some(({ changes }) => changes.some(isRuleChange)) === false) return;
    onSites.changed();
    rules.changed();
    sync.changed();
  });
  return {
    rules,
    onSites,
    kindOfSites: {
      kind: "rule",
      ...onSites.onSites,
      onStatus: onSites.onChange,
      leave: rules.leave,
    },
    beforeMounts: createRulesBeforeMounts({ registry, sync, wantedOf: view.wantedOf }),
    onWork: (listener) =>
      sync.onRound(({ id }, { done }) => {
        if (done.length > 0) listener(id);
      }),
    retry: async (siteId) => {
      if (sites.sync.isLeader()) await sync.reconcile(siteId);
      // Elsewhere, the process with the lease does it. A request also permits writes to the site.
      else if (registry.site(siteId).contacted)
        await sync.request(siteId, { forced: [], states: {} });
    },
    manage: (siteId) => sync.request(siteId, { forced: [], states: {} }),
    movingOn: (site) => movingBy(view.wantedOf(site)),
    forward: onSites.forward,
    endStreams: () => ending.abort(),
    close: async () => {
      ending.abort();
      await following;
    },
  };
}
