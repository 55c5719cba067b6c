import { createReplica } from "../database/replica.ts";
import { ServiceError } from "../messages/error.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { NEW_STATE, readState, type Site, type SiteState } from "./site.ts";
import { isSameSite, type SiteStore, type StoredSite, type StoredSiteState } from "./store.ts";
import { siteFromStored } from "./stored-site.ts";

export interface SiteCopyDeps {
  readonly store: Pick<SiteStore, "version" | "list" | "states">;
  readonly sealer: Sealer;
  /** Called for a site whose secrets cannot be opened. */
  readonly onClosed: (name: string, error: ServiceError) => void;
}

/** A site with the row that it was read from. */
interface Known {
  readonly row: StoredSite;
  readonly site: Site;
}

/** In-memory copy of the tables of sites and their states. */
export interface SiteCopy {
  sites(): readonly Site[];
  byId(id: string): Known | undefined;
  state(id: string): SiteState;
  /** Reads changes of other processes, if there are any. */
  load(): Promise<void>;
  /** Replaces a state after it was written. */
  setState(id: string, state: SiteState): void;
  /** Calls the listener after every change. @returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

export function createSiteCopy({ store, sealer, onClosed }: SiteCopyDeps): SiteCopy {
  let sites: readonly Site[] = [];
  let rows = new Map<string, Known>();
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
  return {
    sites: () => sites,
    byId: (id) => rows.get(id),
    state: (id) => states.get(id) ?? NEW_STATE,
    load,
    setState: (id, state) => {
      states.set(id, state);
      notify();
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The site of a row. One whose secrets cannot be opened is paused, without them. */
function openSite(row: StoredSite, sealer: Sealer, onClosed: SiteCopyDeps["onClosed"]): Site {
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
