import { randomBytes } from "node:crypto";
import { reviveText, type Text } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { createBatches } from "./batch.ts";

/** Stored state of a record on a site, or, with an empty name, of all its records of one kind. */
interface StoredState {
  readonly siteId: string;
  /** Name of the record, or of a listing; `*` and more: a request. */
  readonly name: string;
  /** JSON. */
  readonly state: string;
}

/**
 * Time for which states of several sites are collected for one transaction, in milliseconds: on
 * SQLite each transaction blocks the process until it is on disk. A record waits for two or three
 * transactions.
 */
const BATCH_TIME = 20;
/** Maximum number of states that one write has. */
const MAX_ROWS = 500;

type Changes = Parameters<RecordStateStore["write"]>[0];

/**
 * Name prefix of rows with requests to the process with the lease. Names of records never begin
 * with it.
 */
export const REQUEST = "*";

/** Name after all names of requests. */
export const AFTER_REQUESTS = "+";
/** Name of the row of a site that differs after each write of its states. */
export const MARK = "=";

/** Maximum number of rows with requests for a site, in addition to two joined ones: a round that hangs delays requests. */
const MAX_WAITING = 32;

/** Stores states of the records of one kind on sites. Rejects only with a StoreError. */
export interface RecordStateStore {
  /** Lists states by name. @param only `requests`: those of `request`; undefined: all. */
  list(only?: "requests"): Promise<readonly StoredState[]>;
  /** A text for each site that differs after each write of its states; empty: none was written. */
  marks(): Promise<ReadonlyMap<string, string>>;
  /** Lists states of a site by name. */
  ofSite(siteId: string): Promise<readonly StoredState[]>;
  /**
   * Writes and removes states in one transaction, those of deleted sites excepted. A text of
   * undefined removes.
   */
  write(
    changes: readonly { readonly siteId: string; readonly name: string; readonly state?: string }[],
  ): Promise<void>;
}

/** Change of states at a user's request. Afterwards the site may be written to. */
export interface StateRequest<S, L = never> {
  /** Names of records that are pushed despite earlier failures. */
  readonly forced: readonly string[];
  /** States of records that were adopted, by name. */
  readonly states: Readonly<Record<string, S>>;
  /** Names whose states are removed, because the records were renamed. */
  readonly forget?: readonly string[];
  /** Listings by another process, by path. */
  readonly listings?: Readonly<Record<string, L>>;
}

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

/** @param batch milliseconds for which states are collected. Default: 20. */
export function createRecordRegistry<
  S extends object,
  T extends SiteRecords,
  L extends object = never,
>(store: RecordStateStore, kind: RegistryKind<S, T>, batch = BATCH_TIME): RecordRegistry<S, T, L> {
  const { newState, newSite, isListing = () => false } = kind;
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
  const readSite = async (siteId: string) => {
    const ticks = createTicks();
    let site: T | undefined;
    const states = new Map<string, S>();
    const listed = new Map<string, L>();
    for (const { name, state } of await store.ofSite(siteId)) {
      if (name.startsWith(REQUEST)) continue;
      if (ticks.isDue()) await ticks.next();
      const value = JSON.parse(state, reviveText);
      if (isListing(name)) listed.set(name, Object.freeze(value));
      else if (name === "") site = { ...newSite, ...value };
      else states.set(name, Object.freeze({ ...newState, ...value }));
    }
    return { site, records: states, listings: listed };
  };
  let requestCount = 0;
  const listeners = new Set<(siteId: string) => void>();
  const listingListeners = new Set<Parameters<RecordRegistry<S, T, L>["onListing"]>[0]>();
  const ofSite = <V>(all: Map<string, Map<string, V>>, siteId: string): Map<string, V> => {
    const known = all.get(siteId) ?? new Map<string, V>();
    all.set(siteId, known);
    return known;
  };
  const requestsOf = async (siteId: string): Promise<readonly StoredState[]> =>
    (await store.list("requests")).filter((row) => row.siteId === siteId);
  /** Name of the row of a new request. Names sort in the order of requests, and differ between processes. */
  const nextName = (): string => {
    requestCount += 1;
    const order = `${String(Date.now()).padStart(14, "0")}-${String(requestCount).padStart(9, "0")}`;
    return `${REQUEST}${order}-${randomBytes(4).toString("hex")}`;
  };
  let last: Promise<void> = Promise.resolve();
  const oneByOne = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  const registry: RecordRegistry<S, T, L> = {
    load: async () => {
      const marks = await store.marks();
      for (const siteId of new Set([...sites.keys(), ...records.keys(), ...listings.keys()]))
        if (!marks.has(siteId))
          for (const all of [sites, records, listings, read]) all.delete(siteId);
      for (const [siteId, mark] of marks)
        while (read.get(siteId) !== mark) {
          read.set(siteId, mark);
          const stored = await readSite(siteId);
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
    request: (siteId, request) =>
      oneByOne(async () => {
        const waiting = await requestsOf(siteId);
        const joined = waiting.length < MAX_WAITING ? [] : waiting;
        const all = [...joined.map(({ state }) => readRequest<S, L>(state)), request];
        // Only requests of one kind are joined: some do not permit writes to the site.
        const kinds = [all.filter(permitsWrites), all.filter((each) => !permitsWrites(each))];
        await store.write([
          ...joined.map(({ name }) => ({ siteId, name })),
          ...kinds
            .filter((kind) => kind.length > 0)
            .map((kind) => ({ siteId, name: nextName(), state: JSON.stringify(join(kind)) })),
        ]);
      }),
    requested: async () => new Set((await store.list("requests")).map(({ siteId }) => siteId)),
    carryOut: async (siteId) => {
      for (const { name, state } of await requestsOf(siteId)) {
        const request = readRequest<S, L>(state);
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
        await store.write([{ siteId, name }]);
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

/** Reports whether a request permits writes to its site: a rename or a listing alone does not. */
function permitsWrites({ forget = [], listings = {} }: StateRequest<unknown, unknown>): boolean {
  return forget.length === 0 && Object.keys(listings).length === 0;
}

function readRequest<S, L>(state: string): StateRequest<S, L> {
  return JSON.parse(state, reviveText);
}

/** Joins several requests; the last state of a record counts. */
function join<S, L>(requests: readonly StateRequest<S, L>[]): StateRequest<S, L> {
  return {
    forced: [...new Set(requests.flatMap(({ forced }) => forced))],
    states: Object.fromEntries(requests.flatMap(({ states }) => Object.entries(states))),
    forget: [...new Set(requests.flatMap(({ forget = [] }) => forget))],
    listings: Object.assign({}, ...requests.map(({ listings }) => listings)),
  };
}
