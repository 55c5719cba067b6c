import { ROOT } from "../../access/grant.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { RevisionOrigin } from "../../ledger/store.ts";
import type { Caller, ChangeOptions, Saved } from "../../records/caller.ts";
import { withEffects } from "../../records/effect.ts";
import { createRecordEtag } from "../../records/etag.ts";
import { saveRights } from "../../records/save-rules.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { onSite } from "../../sites/on-site.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { SITE_RULES } from "../kind.ts";
import type { RuleView } from "../rule-view.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import type { SaveRules } from "../save.ts";
import { adoptedStates, findRules, takeRules } from "../site/adoption.ts";
import type { RuleRound } from "../site/round.ts";
import { NO_USERS } from "../site/row.ts";
import type { RuleRegistry, RuleState } from "../site/state.ts";
import type { RuleSync } from "../site/sync.ts";

export interface AdoptDeps {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "names">;
  readonly registry: Pick<RuleRegistry, "site" | "records">;
  readonly sync: Pick<RuleSync, "read" | "request" | "forward">;
  readonly view: Pick<RuleView, "wantedOf">;
  /** Name of the file that declares a rule; undefined: none. */
  readonly declaredBy: (path: string) => string | undefined;
  /** Effects of a change on running servers other than that of a site. */
  readonly effectsBeside: (
    change: Parameters<RulesOnSites["effectsOf"]>[0],
    site: Site,
  ) => ReturnType<RulesOnSites["effectsOf"]>;
}

/** Adopts the rules of a server: on request, and after a change on the server's own pages. */
export interface RuleAdoption extends Pick<RulesOnSites, "adopt"> {
  /**
   * Forwards a change that an admin makes on the server's own pages, and adopts its result. Before
   * the first adoption, Mooring does not manage the site's rules.
   */
  forward(site: Site, send: () => Promise<void>, origin: RevisionOrigin): Promise<void>;
}

export function adoptRules(deps: AdoptDeps): RuleAdoption {
  const { registry, sync } = deps;
  const adoptRound = createAdoption(deps);
  return {
    adopt: async (site, paths, caller, options) => {
      const round = await onSite(sync.read(site.id), caller.signal);
      await caller.renew?.();
      const { saved, states } = await adoptRound(round, site, paths, caller, options);
      if (options.dryRun !== true) await onSite(sync.request(site.id, { forced: [], states }));
      return saved;
    },
    forward: async (site, send, origin) => {
      await sync.forward(site.id, send, async (round) => {
        if (!registry.site(site.id).contacted) return {};
        return (await adoptRound(round, site, [], { grant: ROOT, origin }, {})).states;
      });
    },
  };
}

/** Adoption of the result of a read of a site, in one revision. */
function createAdoption({
  ledger,
  fingerprint,
  sites,
  registry,
  view,
  declaredBy,
  effectsBeside,
}: AdoptDeps) {
  const etagOf = createRecordEtag(fingerprint, SITE_RULES.keyOf);
  return async (
    round: RuleRound,
    site: Site,
    names: readonly string[],
    { grant, origin }: Caller,
    { dryRun = false }: ChangeOptions,
  ): Promise<{ readonly saved: Saved; readonly states: Readonly<Record<string, RuleState>> }> => {
    const known = registry.records(site.id);
    const found = findRules(round, { names, known, wanted: view.wantedOf(site) });
    if (found.rules.length === 0 && found.gone.length === 0)
      return { saved: { revision: ledger.snapshot().revision, results: [] }, states: {} };
    const options: SaveRules = {
      etagOf,
      isAdopted: true,
      carries: true,
      sites: sites.names(),
      managedBy: declaredBy,
      ...saveRights(SITE_RULES, grant),
      reveals: true,
    };
    const users = round.users ?? NO_USERS;
    const { result, revision } = await ledger.change(
      origin,
      withEffects(
        SITE_RULES,
        (change) => effectsBeside(change, site),
        (draft, rules) => takeRules(draft, found, rules, { site, users, options }),
      ),
      { dryRun },
    );
    const saved = { revision, results: result };
    if (dryRun) return { saved, states: {} };
    const taken = new Set(
      result.flatMap(({ name, outcome }) => (outcome === "skipped" ? [] : [name])),
    );
    const wanted = new Map(
      view.wantedOf(site).flatMap((rule) => (taken.has(rule.name) ? [[rule.name, rule]] : [])),
    );
    return { saved, states: adoptedStates(found, wanted, known, round.users) };
  };
}
