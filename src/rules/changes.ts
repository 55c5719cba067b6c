import { type Grant, outsideLimits } from "../access/grant.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { notFound } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { message } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { withEffects } from "./effect.ts";
import { RULES, rulesByPath } from "./kind.ts";
import { isAllowed, type Rule, type RuleIndex } from "./rule.ts";
import { createRuleEtag, type RuleEtag } from "./rule-etag.ts";
import type { Caller, ChangeOptions, Saved } from "./rule-service.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";
import type { Result, SaveRules } from "./save.ts";

export interface RuleChangesDeps {
  readonly ledger: Pick<Ledger, "snapshot" | "change">;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "load">;
  readonly onSites: Pick<RulesOnSites, "effectsOf">;
  readonly fingerprint: Fingerprint;
  /** File that declares a rule; undefined: clients change it. */
  readonly declaredBy: (path: string) => string | undefined;
}

/** Decides a change of rules on a draft. @param rules all rules of the draft; it may change them. */
export type DecideRules = (
  draft: Draft,
  rules: RuleIndex,
) => readonly Result[] | Promise<readonly Result[]>;

/** Common parts of all changes of rules: rights of the caller, names, effects. */
export interface RuleChanges {
  readonly etagOf: RuleEtag;
  /** File that declares a rule; undefined: clients change it. */
  readonly declaredBy: (path: string) => string | undefined;
  /** All rules, by path. The same object until a rule changes. */
  all(): ReadonlyMap<string, Rule>;
  /** @throws FAILED_PRECONDITION for a rule that a file declares. */
  refuseManaged(path: string): void;
  /** All rules that a caller may read. */
  readable(grant: Grant): readonly Rule[];
  /** A rule that a caller may change. @throws NOT_FOUND with the nearest path; PERMISSION_DENIED. */
  require(grant: Grant, rule: Rule | undefined, path: string): Rule;
  /** Rules of a save by a caller. */
  rulesOf(caller: Pick<Caller, "grant">): SaveRules;
  /** Names of all sites, with those that another process has created. */
  siteNames(): Promise<SiteNames>;
  /** @throws NOT_FOUND. */
  siteNamed(name: string): Promise<Site>;
  /** Commits a decision, or only makes it. Its results get their effects on running servers. */
  commit(caller: Caller, options: ChangeOptions, decide: DecideRules): Promise<Saved>;
}

export function createRuleChanges(deps: RuleChangesDeps): RuleChanges {
  const { ledger, sites, onSites, declaredBy } = deps;
  const etagOf = createRuleEtag(deps.fingerprint);
  const siteNames = () => readSiteNames(sites);
  const all = (): ReadonlyMap<string, Rule> => rulesByPath(ledger.snapshot().of(RULES));
  return {
    etagOf,
    declaredBy,
    all,
    siteNames,
    refuseManaged: (path) => checkManaged(path, declaredBy(path)),
    readable: (grant) => [...all().values()].filter((rule) => isAllowed(grant, rule)),
    require: (grant, rule, path) => {
      if (rule !== undefined && isAllowed(grant, rule)) return rule;
      if (grant.limits.length > 0) throw outsideLimits(grant);
      const hint = didYouMean(path, all().keys());
      throw notFound(message("RULE_NOT_FOUND", { path: path.slice(0, 255), hint }));
    },
    rulesOf: ({ grant }) => ({
      etagOf,
      isAdopted: false,
      sites: sites.names(),
      managedBy: declaredBy,
      allows: (path) => grant.allowsPath("rule", path),
      refuse: () => {
        throw outsideLimits(grant);
      },
      reveals: grant.has("rules:reveal"),
    }),
    siteNamed: async (name) => (await siteNames()).named(name),
    commit: async ({ origin }, { dryRun = false }, decide) => {
      const { result, revision } = await ledger.change(origin, withEffects(onSites, decide), {
        dryRun,
      });
      return { revision, results: result };
    },
  };
}
