import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import { mapWriteError } from "../database/error.ts";
import { createReplica } from "../database/replica.ts";
import { memoize } from "../memoize.ts";
import { ServiceError } from "../messages/error.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { createBatches } from "../sync/batch.ts";
import { NEW_STATE, readState, type Site, type SiteState } from "./site.ts";
import { createSiteNames, type SiteNames } from "./site-names.ts";
import {
  isSameSite,
  type LogPage,
  type SiteEvent,
  type SiteStore,
  type StoredSite,
  type StoredSiteEvent,
  type StoredSiteState,
} from "./store.ts";
import { siteFromStored, siteToStored } from "./stored-site.ts";

export interface SiteRegistryDeps {
  readonly store: SiteStore;
  readonly sealer: Sealer;
  /** Called for a site whose secrets cannot be opened. */
  readonly onClosed: (name: string, error: ServiceError) => void;
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
  let sites: readonly Site[] = [];
  let rows = new Map<string, { readonly row: StoredSite; readonly site: Site }>();
  let states = new Map<string, SiteState>();
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const open = (row: StoredSite): Site => {
    const known = rows.get(row.id);
    if (known !== undefined && isSameSite(known.row, row)) return known.site;
    return openSite(row, sealer, onClosed);
  };
  /** Version of the last read; undefined: not read yet. */
  let loaded: { readonly version: string | undefined } | undefined;
  const read = async (): Promise<void> => {
    // Read before the tables: a change in between is read again by the next load.
    const version = await store.version();
    if (loaded !== undefined && loaded.version === version) return;
    const found = await store.list();
    const known = await store.states();
    const next = new Map(found.map((row) => [row.id, { row, site: open(row) }]));
    const nextStates = new Map(
      known.map((stored) => {
        const before = states.get(stored.siteId);
        const isKnown = before?.storedVersion === stored.version;
        return [stored.siteId, isKnown ? before : stateFromStored(stored)];
      }),
    );
    const isSame =
      next.size === rows.size &&
      nextStates.size === states.size &&
      [...next].every(([id, { site }]) => rows.get(id)?.site === site) &&
      [...nextStates].every(([id, state]) => states.get(id) === state);
    rows = next;
    states = nextStates;
    sites = [...next.values()].map(({ site }) => site);
    loaded = { version };
    if (!isSame) notify();
  };
  // Each load reads the version: only work on sites waits for it, not other calls.
  const { refresh: load } = createReplica({
    read,
    isStale: () => true,
    onFailure: (error) => {
      throw error;
    },
  });
  const changed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await mapWriteError(work);
    await load();
    return result;
  };
  const write = createBatches(store, batch);
  const registry: SiteRegistry = {
    sites: () => sites,
    byId: (id) => rows.get(id)?.site,
    names: () => namesOf(sites),
    byName: (name) => namesOf(sites).named(name),
    state: (id) => states.get(id) ?? NEW_STATE,
    load,
    insert: (site, audit) => changed(store.insert(siteToStored(site, sealer), audit)),
    update: async (site, audit, before) => {
      const known = rows.get(before.id);
      if (known?.site !== before) return undefined;
      return changed(store.update(siteToStored(site, sealer), audit, known.row));
    },
    change: async (id, edit, audit) => {
      let isDone: boolean | undefined;
      while (isDone === undefined) {
        const before = rows.get(id)?.site;
        if (before === undefined) return;
        const after = edit(before);
        isDone = await registry.update(after, audit(before, after), before);
      }
    },
    delete: (id, audit) => changed(store.delete(id, audit)),
    record: async (siteId, { appliedRevision, storedVersion, ...rest }, events = [], options) => {
      const state = JSON.stringify(rest);
      const row = { siteId, version: storedVersion, appliedRevision, state };
      const audit = entriesOf(rows.get(siteId)?.site.name ?? siteId, events);
      const version = await mapWriteError(write({ state: row, events, audit }, options));
      if (version === undefined) {
        await load();
        return false;
      }
      states.set(siteId, Object.freeze({ ...rest, appliedRevision, storedVersion: version }));
      notify();
      return true;
    },
    clearError: async (id) => {
      const cleared = { error: undefined, failures: 0, nextTry: 0 };
      let isDone = false;
      while (!isDone && rows.has(id))
        isDone = await registry.record(id, { ...registry.state(id), ...cleared });
    },
    log: (id, page) => mapWriteError(store.log(id, page)),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return registry;
}

/** The site of a row. One whose secrets cannot be opened is paused, without them. */
function openSite(row: StoredSite, sealer: Sealer, onClosed: SiteRegistryDeps["onClosed"]): Site {
  try {
    return siteFromStored(row, sealer);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    onClosed(row.name, error);
    // Without the token no call is possible, and without the overrides nothing may be pushed.
    const open = siteFromStored({ ...row, token: "", overrides: "{}" }, sealer);
    return Object.freeze({ ...open, paused: true });
  }
}

function stateFromStored({ version, appliedRevision, state }: StoredSiteState): SiteState {
  return Object.freeze({ ...readState(state), appliedRevision, storedVersion: version });
}

/** Outcomes of writes to a site, by action. Other actions do not change the site. */
const OUTCOMES: Readonly<Record<string, string>> = {
  push: "OK",
  correct: "OK",
  refused: "FAILED_PRECONDITION",
  fight: "ABORTED",
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
