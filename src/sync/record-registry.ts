import { reviveText, type Text } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { createBatches } from "./batch.ts";
import { createStateRequests, permitsWrites, type StateRequest } from "./record-request.ts";
import { REQUEST, type RecordStateStore, type StoredState } from "./record-state-store.ts";

/**
 * Time for which states of several sites are collected for one transaction, in milliseconds: on
 * SQLite each transaction blocks the process until it is on disk. A record waits for two or three
 * transactions.
 */
const BATCH_TIME = 20;
/** Maximum number of states that one write has. */
const MAX_ROWS = 500;

type Changes = Parameters<RecordStateStore["write"]>[0];

/** State of all records of one kind on a site: what every kind has. */
export interface SiteRecords {
  /** The reason for which the records can't be read; empty: none. */
  readonly error: Text;
  /** `SiteFailureKind`. */
  readonly errorKind: string;
  /** Time of the first failure of this kind in a row, in milliseconds since 1970 UTC. */
  readonly errorSince: number;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Time of the next attempt, in milliseconds since 1970 UTC; 0: at once. */
  readonly nextTry: number;
  /**
   * Whether the records were adopted or pushed on request; until then the site is not written to.
   */
  readonly contacted: boolean;
  /** Names of records that a user has requested to push despite earlier failures. */
  readonly forced: readonly string[];
}

/** State of the records on a site that was not read yet. */
export const NEW_SITE_RECORDS: SiteRecords = Object.freeze({
  contacted: false,
  error: "",
  errorKind: "",
  errorSince: 0,
  failures: 0,
  nextTry: 0,
  forced: [],
});

/** Initial states, and names of rows, of a kind. */
export interface RegistryKind<S, T> {
  readonly newState: S;
  readonly newSite: T;
  /** Reports whether a row is a listing of what is at a path, by its name. Default: none is. */
  readonly isListing?: (name: string) => boolean;
}

/**
 * States of the records of one kind on all sites, in memory. The process that holds the lease writes
 * them.
 */
export interface RecordRegistry<S, T extends SiteRecords, L = never> {
  /** Reads all states again, after another process has written them. */
  load(): Promise<void>;
  site(siteId: string): T;
  /** By the names of the records. */
  records(siteId: string): ReadonlyMap<string, S>;
  /** Last listings of a site, by path. */
  listings(siteId: string): ReadonlyMap<string, L>;
  /** Stores changes of one site. Equal states are not written. An undefined state is removed. */
  put(
    siteId: string,
    changes: {
      readonly site?: T;
      readonly records?: Readonly<Record<string, S | undefined>>;
      /** By path. */
      readonly listings?: Readonly<Record<string, L | undefined>>;
    },
  ): Promise<void>;
  /** Stores a request for the process with the lease, which is the only one that writes states. */
  request(siteId: string, request: StateRequest<S, L>): Promise<void>;
  /** @returns the sites with stored requests of any process. */
  requested(): Promise<ReadonlySet<string>>;
  /**
   * Carries out the requests for a site. No round of the site may run at the same time, because it
   * would store older states.
   */
  carryOut(siteId: string): Promise<void>;
  /** Calls the listener after each change. @returns a function that ends this. */
  onChange(listener: (siteId: string) => void): () => void;
  /** Calls the listener with each new listing, and waits for it. */
  onListing(listener: (siteId: string, path: string, listing: L) => Promise<void>): void;
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

/** @param batch milliseconds for which states are collected. Default: 20. */
export function createRecordRegistry<
  S extends object,
  T extends SiteRecords,
  L extends object = never,
>(store: RecordStateStore, kind: RegistryKind<S, T>, batch = BATCH_TIME): RecordRegistry<S, T, L> {
  const { newSite } = kind;
  const batched = createBatches(
    {
      record: async (changes: readonly Changes[]): Promise<readonly undefined[]> => {
        await store.write(changes.flat());
        return changes.map(() => undefined);
      },
    },
    batch,
    (changes) => changes.length,
  );
  const write = (rows: Changes): Promise<undefined> => batched(rows, { isPatient: true });
  const sites = new Map<string, T>();
  const records = new Map<string, Map<string, S>>();
  const listings = new Map<string, Map<string, L>>();
  /** Mark of each site whose states were read, and not written here since then. */
  const read = new Map<string, string>();
  const listeners = new Set<(siteId: string) => void>();
  const listingListeners = new Set<Parameters<RecordRegistry<S, T, L>["onListing"]>[0]>();
  const ofSite = <V>(all: Map<string, Map<string, V>>, siteId: string): Map<string, V> => {
    const known = all.get(siteId) ?? new Map<string, V>();
    all.set(siteId, known);
    return known;
  };
  const requests = createStateRequests<S, L>(store);
  const registry: RecordRegistry<S, T, L> = {
    load: async () => {
      const marks = await store.marks();
      for (const siteId of new Set([...sites.keys(), ...records.keys(), ...listings.keys()]))
        if (!marks.has(siteId))
          for (const all of [sites, records, listings, read]) all.delete(siteId);
      for (const [siteId, mark] of marks)
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
    },
    site: (siteId) => sites.get(siteId) ?? newSite,
    records: (siteId) => records.get(siteId) ?? new Map(),
    listings: (siteId) => listings.get(siteId) ?? new Map(),
    put: async (siteId, { site, records: changed = {}, listings: listed = {} }) => {
      const before = ofSite(records, siteId);
      const known = ofSite(listings, siteId);
      const rows: { siteId: string; name: string; state?: string }[] = [];
      const add = (name: string, was: object | undefined, is: object | undefined): void => {
        if (is === undefined ? was === undefined : JSON.stringify(was) === JSON.stringify(is))
          return;
        rows.push({ siteId, name, ...(is !== undefined && { state: JSON.stringify(is) }) });
      };
      if (site !== undefined) add("", sites.get(siteId), site);
      const ticks = createTicks();
      for (const [name, state] of Object.entries(changed)) {
        if (ticks.isDue()) await ticks.next();
        add(name, before.get(name), state);
      }
      for (const [path, listing] of Object.entries(listed)) add(path, known.get(path), listing);
      if (rows.length === 0) return;
      for (let at = 0; at < rows.length; at += MAX_ROWS) await write(rows.slice(at, at + MAX_ROWS));
      read.delete(siteId);
      if (site !== undefined) sites.set(siteId, Object.freeze(site));
      // The maps may have been read again meanwhile.
      setAll(ofSite(records, siteId), changed);
      setAll(ofSite(listings, siteId), listed);
      for (const listener of listeners) listener(siteId);
      for (const [path, listing] of Object.entries(listed))
        if (listing !== undefined)
          for (const listener of listingListeners) await listener(siteId, path, listing);
    },
    request: requests.add,
    requested: requests.sites,
    carryOut: async (siteId) => {
      for (const { name, request } of await requests.ofSite(siteId)) {
        const { forced, states, forget = [], listings: listed = {} } = request;
        const site = registry.site(siteId);
        await registry.put(siteId, {
          site: {
            ...site,
            contacted: site.contacted || permitsWrites(request),
            forced: [...new Set([...site.forced, ...forced])],
          },
          records: { ...Object.fromEntries(forget.map((each) => [each, undefined])), ...states },
          listings: listed,
        });
        await requests.remove(siteId, name);
      }
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onListing: (listener) => {
      listingListeners.add(listener);
    },
  };
  return registry;
}
