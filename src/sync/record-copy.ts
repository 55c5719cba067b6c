import { oneAtATime } from "../database/replica.ts";
import { reviveText } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { REQUEST, type RecordStateStore, type StoredState } from "./record-state-store.ts";
import type { SiteRecords } from "./site-records.ts";

/** Initial states, and names of rows, of a kind. */
export interface RegistryKind<S, T> {
  readonly newState: S;
  readonly newSite: T;
  /** Reports whether a row is a listing of what is at a path, by its name. Default: none is. */
  readonly isListing?: (name: string) => boolean;
}

/** Changes of the states of one site. An undefined state is removed. */
export interface SiteChanges<S, T extends SiteRecords, L> {
  readonly site?: T;
  /** By name. */
  readonly records?: Readonly<Record<string, S | undefined>>;
  /** By path. */
  readonly listings?: Readonly<Record<string, L | undefined>>;
}

/** In-memory copy of the states of the records of one kind on all sites. */
export interface RecordCopy<S, T extends SiteRecords, L> {
  /** Reads the states of sites again that another process has written. */
  load(): Promise<void>;
  site(siteId: string): T | undefined;
  /** By the names of the records. */
  records(siteId: string): ReadonlyMap<string, S>;
  /** By path. */
  listings(siteId: string): ReadonlyMap<string, L>;
  /** Sets what was written for a site. */
  set(siteId: string, changes: SiteChanges<S, T, L>): void;
}

export function createRecordCopy<S extends object, T extends SiteRecords, L extends object>(
  store: Pick<RecordStateStore, "marks" | "ofSite">,
  kind: RegistryKind<S, T>,
): RecordCopy<S, T, L> {
  const sites = new Map<string, T>();
  const records = new Map<string, Map<string, S>>();
  const listings = new Map<string, Map<string, L>>();
  /** Mark of each site whose states were read, and not written here since then. */
  const read = new Map<string, string>();
  const forget = (siteId: string): void => {
    for (const all of [sites, records, listings, read]) all.delete(siteId);
  };
  const readSite = async (siteId: string, mark: string): Promise<void> => {
    while (read.get(siteId) !== mark) {
      read.set(siteId, mark);
      const stored = await statesFromRows<S, T, L>(await store.ofSite(siteId), kind);
      // States were written meanwhile, which may be newer.
      if (read.get(siteId) !== mark) continue;
      if (stored.site === undefined) sites.delete(siteId);
      else sites.set(siteId, stored.site);
      records.set(siteId, stored.records);
      listings.set(siteId, stored.listings);
    }
  };
  const reading = oneAtATime(async () => {
    const marks = await store.marks();
    for (const siteId of new Set([...sites.keys(), ...records.keys(), ...listings.keys()]))
      if (!marks.has(siteId)) forget(siteId);
    for (const [siteId, mark] of marks) await readSite(siteId, mark);
  });
  return {
    load: reading.run,
    site: (siteId) => sites.get(siteId),
    records: (siteId) => records.get(siteId) ?? new Map(),
    listings: (siteId) => listings.get(siteId) ?? new Map(),
    set: (siteId, { site, records: changed = {}, listings: listed = {} }) => {
      read.delete(siteId);
      if (site !== undefined) sites.set(siteId, Object.freeze(site));
      setAll(ofSite(records, siteId), changed);
      setAll(ofSite(listings, siteId), listed);
    },
  };
}

/** The values of a site, which are created if there are none. */
function ofSite<V>(all: Map<string, Map<string, V>>, siteId: string): Map<string, V> {
  const known = all.get(siteId) ?? new Map<string, V>();
  all.set(siteId, known);
  return known;
}

/** Sets values by name; undefined removes one. */
function setAll<V extends object>(
  all: Map<string, V>,
  values: Readonly<Record<string, V | undefined>>,
): void {
  for (const [name, value] of Object.entries(values))
    if (value === undefined) all.delete(name);
    else all.set(name, Object.freeze(value));
}

/** States that a site's rows contain; those of requests are left out. */
async function statesFromRows<S extends object, T extends SiteRecords, L extends object>(
  rows: readonly StoredState[],
  { newState, newSite, isListing = () => false }: RegistryKind<S, T>,
) {
  const ticks = createTicks();
  let site: T | undefined;
  const records = new Map<string, S>();
  const listings = new Map<string, L>();
  for (const { name, state } of rows) {
    if (name.startsWith(REQUEST)) continue;
    if (ticks.isDue()) await ticks.next();
    const value = JSON.parse(state, reviveText);
    if (isListing(name)) listings.set(name, Object.freeze(value));
    else if (name === "") site = { ...newSite, ...value };
    else records.set(name, Object.freeze({ ...newState, ...value }));
  }
  return { site, records, listings };
}
