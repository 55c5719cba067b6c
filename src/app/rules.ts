import { followFeed } from "../ledger/feed.ts";
import { isRuleChange } from "../rules/kind.ts";
import type { RuleService } from "../rules/rule-service.ts";
import { NO_SERVERS, type RulesOnSites } from "../rules/rules-on-sites.ts";
import { createRuleService } from "../rules/service.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import type { Sites } from "../sites/sites.ts";
import type { SettingServices } from "./settings.ts";

/** Dependencies of folder rules. */
export interface RuleParts {
  readonly sites: Pick<Sites, "registry">;
  readonly services: Pick<SettingServices, "ledger" | "feed" | "fingerprint">;
  /** File that declares a record of a part; undefined: clients change it. */
  readonly declaredBy: (part: string, name: string) => string | undefined;
}

/** Folder rules of sites. */
export interface OpenRules {
  readonly rules: RuleService;
  /** Rules as the sites see them. */
  readonly kindOfSites: KindOfSites;
  endStreams(): void;
  close(): Promise<void>;
}

/** Starts the work on the folder rules of the sites. */
export function openRules({ sites, services, declaredBy }: RuleParts): OpenRules {
  const ending = new AbortController();
  const onSites: RulesOnSites = NO_SERVERS;
  const rules = createRuleService({
    ...services,
    sites: sites.registry,
    onSites,
    declaredBy: (path) => declaredBy("rules", path),
    stopping: ending.signal,
  });
  // Wakes the streams after a commit; after a gap of the feed, too.
  const following = followFeed(services.feed, ending.signal, (commits) => {
    if (commits?.some(({ changes }) => changes.some(isRuleChange)) !== false) rules.changed();
  });
  return {
    rules,
    kindOfSites: {
      kind: "rule",
      ofSite: () => NO_RECORDS,
      onStatus: onSites.onChange,
      leave: rules.leave,
      affected: () => [],
    },
    endStreams: () => ending.abort(),
    close: async () => {
      ending.abort();
      await following;
    },
  };
}

const NO_RECORDS = Object.freeze({ kind: "rule", error: undefined, counts: {} } as const);
