import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import { mapWriteError } from "../database/error.ts";
import { memoize } from "../memoize.ts";
import { createBatches } from "../sync/batch.ts";
import type { Site, SiteState } from "./site.ts";
import { createSiteCopy, type SiteCopyDeps } from "./site-copy.ts";
import { createSiteNames, type SiteNames } from "./site-names.ts";
import type { LogPage, SiteEvent, SiteStore, StoredSiteEvent } from "./store.ts";
import { siteToStored } from "./stored-site.ts";

export interface SiteRegistryDeps extends SiteCopyDeps {
  readonly store: SiteStore;
  /** Milliseconds between two transactions with deferrable writes. Default: 50. */
  readonly batch?: number | undefined;
}

const namesOf = memoize(createSiteNames);

/** In-memory registry of sites and their states. Other processes write the same tables. */
export interface SiteRegistry {
  sites(): readonly Site[];
  /** Names of the sites that this process knows. */
  names(): SiteNames;
  /** @throws NOT_FOUND that names the most similar site. */
  byName(name: string): Site;
  byId(id: string): Site | undefined;
  state(id: string): SiteState;
  /** Reads changes of other processes, if there are any. */
  load(): Promise<void>;
  /**
   * @param audit entries that are written with the change, as for the methods below.
   * @returns false when the name or address is taken.
   */
  insert(site: Site, audit: readonly AuditEntry[]): Promise<boolean>;
  /**
   * @param before the site that was changed.
   * @returns as insert; undefined if another call or process has changed `before` meanwhile.
   */
  update(site: Site, audit: readonly AuditEntry[], before: Site): Promise<boolean | undefined>;
  /**
   * Changes a site; no effect if it was deleted. Repeats when another call or process has changed it
   * meanwhile.
   *
   * @param edit returns the changed site.
   * @param audit returns the entries that are written with the change.
   */
  change(
    id: string,
    edit: (site: Site) => Site,
    audit: (before: Site, after: Site) => readonly AuditEntry[],
  ): Promise<void>;
  delete(id: string, audit: readonly AuditEntry[]): Promise<void>;
  /**
   * Writes the state of a site.
   *
   * @param options.isPatient whether the write may be delayed to share a transaction.
   * @returns false if another process has written meanwhile, or the site was deleted.
   */
  record(
    id: string,
    state: SiteState,
    events?: readonly SiteEvent[],
    options?: { readonly isPatient: boolean },
  ): Promise<boolean>;
  /**
   * Clears the error of a site that has a new address or token. Repeats when another state was stored
   * meanwhile: a round with the old token may have failed.
   */
  clearError(id: string): Promise<void>;
  log(id: string, page: LogPage): Promise<readonly StoredSiteEvent[]>;
  /** Calls the listener after every change. @returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

export function createSiteRegistry({
  store,
  sealer,
  onClosed,
  batch,
}: SiteRegistryDeps): SiteRegistry {
  const copy = createSiteCopy({ store, sealer, onClosed });
  const { load } = copy;
  const changed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await mapWriteError(work);
    await load();
    return result;
  };
  const write = createBatches(store, batch);
  const registry: SiteRegistry = {
    sites: copy.sites,
    byId: (id) => copy.byId(id)?.site,
    names: () => namesOf(copy.sites()),
    byName: (name) => namesOf(copy.sites()).named(name),
    state: copy.state,
    load,
    onChange: copy.onChange,
    insert: (site, audit) => changed(store.insert(siteToStored(site, sealer), audit)),
    update: async (site, audit, before) => {
      const known = copy.byId(before.id);
      if (known?.site !== before) return undefined;
      return changed(store.update(siteToStored(site, sealer), audit, known.row));
    },
    change: async (id, edit, audit) => {
      let isDone: boolean | undefined;
      while (isDone === undefined) {
        const before = copy.byId(id)?.site;
        if (before === undefined) return;
        const after = edit(before);
        isDone = await registry.update(after, audit(before, after), before);
      }
    },
    delete: (id, audit) => changed(store.delete(id, audit)),
    record: async (siteId, { appliedRevision, storedVersion, ...rest }, events = [], options) => {
      const state = JSON.stringify(rest);
      const row = { siteId, version: storedVersion, appliedRevision, state };
      const audit = entriesOf(copy.byId(siteId)?.site.name ?? siteId, events);
      const version = await mapWriteError(write({ state: row, events, audit }, options));
      if (version === undefined) {
        await load();
        return false;
      }
      copy.setState(siteId, Object.freeze({ ...rest, appliedRevision, storedVersion: version }));
      return true;
    },
    clearError: async (id) => {
      const cleared = { error: undefined, failures: 0, nextTry: 0 };
      let isDone = false;
      while (!isDone && copy.byId(id) !== undefined)
        isDone = await registry.record(id, { ...registry.state(id), ...cleared });
    },
    log: (id, page) => mapWriteError(store.log(id, page)),
  };
  return registry;
}

/** Outcomes of writes to a site, by action. Other actions do not change the site. */
const OUTCOMES: Readonly<Record<string, string>> = {
  push: "OK",
  correct: "OK",
  refused: "FAILED_PRECONDITION",
  flapping: "ABORTED",
};

/** Audit entries of writes to a site, with the site and the keys as subjects. */
function entriesOf(site: string, events: readonly SiteEvent[]): AuditEntry[] {
  return events.flatMap(({ time, actor, action, revision, keys, result }) => {
    const outcome = OUTCOMES[action];
    if (outcome === undefined) return [];
    const origin = { actor, transport: "", method: action, peer: "", requestId: "" };
    const detail = { revision, keys: keys.length, result: String(result) };
    return [{ ...doneEntry(origin, time, [site, ...keys], detail), outcome }];
  });
}

/**
 * Members of a site that differ, without their values, which may be secret.
 *
 * @param sent members that count as different. Their order is that of the others, which would reveal them.
 */
export function changedMembers(
  before: Site,
  after: Site,
  sent: readonly (keyof Site)[] = [],
): readonly string[] {
  const names = Object.keys(after) as (keyof Site)[];
  return names.filter(
    (name) => sent.includes(name) || JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
}

/**
 * Names of the sites, with those that another process has just created.
 *
 * @throws UNAVAILABLE when the database cannot be read.
 */
export async function readSiteNames(
  registry: Pick<SiteRegistry, "load" | "names">,
): Promise<SiteNames> {
  await mapWriteError(registry.load());
  return registry.names();
}
