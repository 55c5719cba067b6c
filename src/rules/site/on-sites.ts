import { ROOT } from "../../access/grant.ts";
import { doneEntry } from "../../audit/entry.ts";
import type { AuditEntry } from "../../audit/store.ts";
import { type RecordResult, resultAs } from "../../history/record-result.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { RevisionOrigin } from "../../ledger/store.ts";
import { notFound } from "../../messages/error.ts";
import { joinTexts, message } from "../../messages/message.ts";
import { didYouMean } from "../../messages/nearest.ts";
import { ownValue } from "../../own-value.ts";
import type { Caller, ChangeOptions, Saved } from "../../records/caller.ts";
import { isRunning, type RecordChange, withEffects } from "../../records/effect.ts";
import { createRecordEtag } from "../../records/etag.ts";
import { MAX_SUBJECTS } from "../../records/limit.ts";
import { requestedKeys } from "../../records/requested-keys.ts";
import { saveRights } from "../../records/save-rules.ts";
import { subjectOf } from "../../records/subject.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { onSite } from "../../sites/on-site.ts";
import type { KindOfSites } from "../../sites/record-effect.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite } from "../../sites/site-choice.ts";
import { createSummaries } from "../../sites/summary.ts";
import { SITE_RULES } from "../kind.ts";
import type { Rule, WantedRule } from "../rule.ts";
import type { RuleView } from "../rule-view.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import type { SaveRules } from "../save.ts";
import { adoptedStates, findRules, takeRules } from "./adoption.ts";
import { effectsAt, effectsOf, effectsOfFollowing } from "./effect.ts";
import { linesOf, type ServerRule, type ServerRules } from "./opening.ts";
import type { RuleRound } from "./round.ts";
import { hideWarning, NO_USERS, valuesOf } from "./row.ts";
import { isManaged, NEW_RULE, type RuleRegistry, type RuleState } from "./state.ts";
import { ruleStatus } from "./status.ts";
import type { RuleSync } from "./sync.ts";

export interface RulesOnSitesDeps {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "state">;
  readonly registry: RuleRegistry;
  readonly sync: Pick<RuleSync, "read" | "request" | "push" | "forward">;
  readonly view: RuleView;
  /** Name of the file that declares a rule; undefined: none. */
  readonly declaredBy: (path: string) => string | undefined;
  /** Records a request that changes nothing in Mooring. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** Rules on the servers of sites, with what the sites and the upstream need of them. */
export interface LiveRules extends RulesOnSites {
  /** Share of the rules in the state of a site, and their part in changes of sites. */
  readonly onSites: Pick<KindOfSites, "ofSite" | "affected">;
  /**
   * Forwards a change that an admin makes on the server's own pages, and adopts its result. Before
   * the first adoption, Mooring does not manage the site's rules.
   */
  forward(site: Site, send: () => Promise<void>, origin: RevisionOrigin): Promise<void>;
  /** Wakes the listeners after a commit. */
  changed(): void;
}

export function createRulesOnSites(deps: RulesOnSitesDeps): LiveRules {
  const { registry, sites, sync, view } = deps;
  const sources = { registry, siteState: sites.state };
  const listeners = new Set<() => void>();
  const statusOn = (rule: Rule, site: Site) => ruleStatus(rule, site, sources);
  const summaries = createSummaries<Rule>({
    kind: "rule",
    records: view.all,
    statusOf: statusOn,
    errorOf: ({ id }) => {
      const { error, errorKind: kind, errorSince: since } = registry.site(id);
      return error === "" ? undefined : { kind, message: error, since };
    },
    stateOf: sites.state,
  });
  const changed = (siteId?: string): void => {
    summaries.forget(siteId);
    for (const listener of listeners) listener();
  };
  registry.onChange(changed);
  const running = (): readonly Site[] =>
    sites.sites().filter((site) => isRunning(site, registry.site(site.id)));
  const effectsOn = (change: RecordChange<Rule>, of: readonly Site[]) =>
    effectsOf(
      change,
      of.map((site) => {
        const state = registry.records(site.id).get(change.before?.path ?? "");
        return { site, has: isManaged(state ?? NEW_RULE) };
      }),
    );
  const adoptRound = createAdoption(deps, {
    effectsOf: (change, except) =>
      effectsOn(
        change,
        running().filter(({ id }) => id !== except.id),
      ),
  });
  return {
    effectsOf: (change) => effectsOn(change, running()),
    statuses: (rule) =>
      sites
        .sites()
        .filter(({ id }) => isOnSite(rule, id))
        .map((site) => statusOn(rule, site)),
    compare: async (site, signal) => {
      const round = await onSite(sync.read(site.id), signal);
      return compareResults(round, site, view.wantedOf(site), registry.records(site.id));
    },
    sync: async (site, paths, origin, signal) => {
      const asked = requestedKeys(paths, {
        ofSite: view.wantedOf(site).map(({ name }) => name),
        all: view.all(),
        unknown: (path) => {
          const hint = didYouMean(path, view.all().keys());
          return notFound(message("RULE_NOT_FOUND", { path: path.slice(0, 255), hint }));
        },
        elsewhere: (path) =>
          notFound(message("RULE_NOT_ON_SITE", { site: site.name, path: path.slice(0, 255) })),
      });
      const subjects = asked.slice(0, MAX_SUBJECTS).map((path) => subjectOf(SITE_RULES, path));
      await deps.audit(doneEntry(origin, Date.now(), [site.name, ...subjects], {}));
      // A site without rules in Mooring is read, so that it counts as contacted.
      await onSite(sync.read(site.id), signal);
      if (asked.length === 0)
        await onSite(sync.request(site.id, { forced: [], states: {} }), signal);
      else await onSite(sync.push(site.id, asked, signal), signal);
      return asked.flatMap((path) => {
        const rule = view.all().get(path);
        return rule === undefined ? [] : [statusOn(rule, site)];
      });
    },
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
    onChange: (listener) => void listeners.add(listener),
    changed: () => changed(),
    onSites: {
      ofSite: summaries.ofSite,
      affected: (before, after) => {
        const site = registry.site(after.id);
        if (isRunning(before, site) || !isRunning(after, site)) return [];
        return effectsOfFollowing(after, view.all(), registry.records(after.id)).map(
          ({ name, effects }) => ({ ...resultAs(name, "unchanged", ""), effects }),
        );
      },
    },
  };
}

/** Adoption of the result of a read of a site, in one revision. */
function createAdoption(
  { ledger, fingerprint, sites, registry, view, declaredBy }: RulesOnSitesDeps,
  running: {
    /** Effects on running servers other than that of a site. */
    readonly effectsOf: (
      change: Parameters<RulesOnSites["effectsOf"]>[0],
      except: Site,
    ) => ReturnType<RulesOnSites["effectsOf"]>;
  },
) {
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
        (change) => running.effectsOf(change, site),
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

/** Plan of a sync: calls to make, and rules to leave unchanged. */
function compareResults(
  round: RuleRound,
  site: Pick<Site, "name">,
  wanted: readonly WantedRule[],
  known: ReadonlyMap<string, RuleState>,
): readonly RecordResult[] {
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  const rules = rulesOfSync(round, wanted, known);
  const assigned = wanted.map((rule): RecordResult => {
    const state = ownValue(round.states, rule.name) ?? known.get(rule.name) ?? NEW_RULE;
    const { differs, error } = state;
    const row = state.absent ? undefined : byId.get(state.id);
    if (isHindered(state)) return { ...resultAs(rule.name, "skipped", error), differs };
    if (row === undefined)
      return {
        ...resultAs(rule.name, "created", error),
        effects: effectsAt(site, rule.path, rules),
      };
    if (differs.length === 0)
      return resultAs(rule.name, "unchanged", joinTexts([error, hideWarning(row)]));
    const paths = new Set([row.path, rule.path]);
    const effects = [...paths].flatMap((path) => effectsAt(site, path, rules));
    const note = joinTexts([error, hideWarning(row)]);
    return { name: rule.name, outcome: "changed", note, differs, effects };
  });
  const gone = Object.entries(round.states).flatMap(([name, state]): RecordResult[] => {
    const row = byId.get(state?.id ?? 0);
    if (names.has(name) || state === undefined || row === undefined) return [];
    return [{ ...resultAs(name, "deleted", ""), effects: effectsAt(site, row.path, rules) }];
  });
  const extra = round.extra.map((row) =>
    resultAs(row.path, "skipped", joinTexts([message("ONLY_AT_SITE"), hideWarning(row)])),
  );
  return [...assigned, ...gone, ...extra];
}

/** Reports whether a sync leaves a rule as it is on the server. */
function isHindered({ hindrance }: Pick<RuleState, "hindrance">): boolean {
  return ["incomplete", "users", "unsupported", "taken"].includes(hindrance);
}

/** Rules of a server before a sync and after it. */
function rulesOfSync(
  { rows, states, users = NO_USERS }: Pick<RuleRound, "rows" | "states" | "users">,
  wanted: readonly WantedRule[],
  known: ReadonlyMap<string, RuleState>,
): ServerRules {
  const before = new Map(rows.map((row) => [row.path, { values: valuesOf(row, users) }]));
  const after = new Map<string, ServerRule>(before);
  const stateOf = (name: string): RuleState =>
    ownValue(states, name) ?? known.get(name) ?? NEW_RULE;
  const written = wanted.filter(({ name }) => !isHindered(stateOf(name)));
  const names = new Set(wanted.map(({ name }) => name));
  const gone = Object.keys(states).filter((name) => !names.has(name));
  const replaced = new Set(
    [...gone, ...written.map(({ name }) => name)].map((name) => stateOf(name).id),
  );
  for (const row of rows) if (replaced.has(row.id)) after.delete(row.path);
  for (const rule of written) after.set(rule.path, rule);
  return {
    before: (folder) => before.get(folder),
    after: (folder) => after.get(folder),
    lines: linesOf,
  };
}
