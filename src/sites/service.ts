import type { Ledger } from "../ledger/ledger.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { onSite } from "./on-site.ts";
import type { KindOfSites } from "./record-effect.ts";
import type { SiteRegistry } from "./registry.ts";
import { adoptValues } from "./settings/adoption.ts";
import type { Round } from "./settings/round.ts";
import type { SettingSync } from "./settings/sync.ts";
import { errorOf, type Site, type SiteView } from "./site.ts";
import { siteEtag } from "./site-etag.ts";
import { createSiteFeed } from "./site-feed.ts";
import { createSiteKeys } from "./site-keys.ts";
import type { SiteService } from "./site-service.ts";
import { pausedSite } from "./site-state.ts";
import type { SiteEvent } from "./store.ts";
import { createSite } from "./use-case/create.ts";
import { deleteSite } from "./use-case/delete.ts";
import { syncSite } from "./use-case/sync.ts";
import { updateSite } from "./use-case/update.ts";

export interface SiteServiceDeps {
  readonly registry: SiteRegistry;
  readonly settings: SettingSync;
  readonly ledger: Ledger;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  readonly managedBy: (key: string) => string | undefined;
  /** File that declares a site; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly now: () => number;
  /** A new id of a site. */
  readonly newId: () => string;
  /** Aborted when the service stops; ends all watches. */
  readonly stopping: AbortSignal;
  readonly onEvent: (site: Site, event: SiteEvent) => void;
  /** Kinds of records beside settings. */
  readonly kinds: readonly KindOfSites[];
}

export function createSiteService(deps: SiteServiceDeps): SiteService {
  const { registry, settings, ledger } = deps;
  const keys = createSiteKeys(deps);
  const viewOf = (site: Site): SiteView => ({
    site,
    state: registry.state(site.id),
    records: deps.kinds.map((kind) => kind.ofSite(site)),
  });
  const list = (): readonly SiteView[] => registry.sites().map(viewOf);
  const read = (site: Site, signal?: AbortSignal): Promise<Round> =>
    onSite(settings.round(site, { aim: "read", actor: "sites", signal }), signal);
  const feed = createSiteFeed(deps, list);
  registry.onChange(feed.changed);
  return {
    revision: () => ledger.snapshot().revision,
    list,
    get: (name) => viewOf(registry.byName(name)),
    etagOf: (site) => siteEtag(site, keys.isSecret),
    create: createSite({ ...deps, keys, viewOf, read }),
    update: updateSite({ ...deps, keys, viewOf }),
    delete: deleteSite({ ...deps, keys, viewOf }),
    check: async (name, signal) => {
      const site = registry.byName(name);
      await read(site, signal);
      return viewOf(site);
    },
    compare: async (name, signal) => {
      const site = registry.byName(name);
      const { comparisons } = await read(site, signal);
      return { view: viewOf(site), comparisons };
    },
    adopt: async (name, { keys: asked, dryRun, reveals = true, renew, signal }, origin) => {
      const site = registry.byName(name);
      const { promise: hasRead, resolve } = Promise.withResolvers<void>();
      const work = adoptValues(deps, site, {
        keys: keys.check(site, asked),
        dryRun,
        reveals,
        origin,
        renew: async () => {
          await renew?.();
          resolve();
        },
      });
      // From then on the result is waited for: it may be stored.
      await onSite(Promise.race([work, hasRead]), signal);
      return onSite(work);
    },
    sync: syncSite(keys, deps),
    log: (name, page) => registry.log(registry.byName(name).id, page),
    watch: feed.watch,
    pending: (isAsked = () => true) =>
      list()
        .filter(({ site }) => site.mode === "follow" && isAsked(site.id))
        .flatMap((view) => {
          const { name, paused } = view.site;
          const reason = paused ? pausedSite(view.site).cause : errorOf(view)?.message;
          return reason === undefined ? [] : [{ site: name, reason }];
        }),
    changed: feed.changed,
  };
}
