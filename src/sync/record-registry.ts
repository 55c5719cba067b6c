import { createTicks } from "../ticks.ts";
import { createBatches } from "./batch.ts";
import {
  createRecordCopy,
  type RecordCopy,
  type RegistryKind,
  type SiteChanges,
} from "./record-copy.ts";
import { createStateRequests, permitsWrites, type StateRequest } from "./record-request.ts";
import type { RecordStateStore } from "./record-state-store.ts";
import type { SiteRecords } from "./site-records.ts";

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
  /** Stores changes of one site. Equal states are not written. */
  put(siteId: string, changes: SiteChanges<S, T, L>): Promise<void>;
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

/** @param batch milliseconds for which states are collected. Default: 20. */
export function createRecordRegistry<
  S extends object,
  T extends SiteRecords,
  L extends object = never,
>(store: RecordStateStore, kind: RegistryKind<S, T>, batch = BATCH_TIME): RecordRegistry<S, T, L> {
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
  const copy = createRecordCopy<S, T, L>(store, kind);
  const listeners = new Set<(siteId: string) => void>();
  const listingListeners = new Set<Parameters<RecordRegistry<S, T, L>["onListing"]>[0]>();
  const requests = createStateRequests<S, L>(store);
  const registry: RecordRegistry<S, T, L> = {
    load: copy.load,
    site: (siteId) => copy.site(siteId) ?? kind.newSite,
    records: copy.records,
    listings: copy.listings,
    put: async (siteId, changes) => {
      const rows = await changedRows(siteId, changes, copy);
      if (rows.length === 0) return;
      for (let at = 0; at < rows.length; at += MAX_ROWS) await write(rows.slice(at, at + MAX_ROWS));
      copy.set(siteId, changes);
      for (const listener of listeners) listener(siteId);
      for (const [path, listing] of Object.entries(changes.listings ?? {}))
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

/** Rows of the changes of a site that differ from what is known. */
async function changedRows<S extends object, T extends SiteRecords, L extends object>(
  siteId: string,
  { site, records = {}, listings = {} }: SiteChanges<S, T, L>,
  known: Pick<RecordCopy<S, T, L>, "site" | "records" | "listings">,
): Promise<Changes> {
  const rows: { siteId: string; name: string; state?: string }[] = [];
  const add = (name: string, was: object | undefined, is: object | undefined): void => {
    if (is === undefined ? was === undefined : JSON.stringify(was) === JSON.stringify(is)) return;
    rows.push({ siteId, name, ...(is !== undefined && { state: JSON.stringify(is) }) });
  };
  if (site !== undefined) add("", known.site(siteId), site);
  const before = known.records(siteId);
  const listed = known.listings(siteId);
  const ticks = createTicks();
  for (const [name, state] of Object.entries(records)) {
    if (ticks.isDue()) await ticks.next();
    add(name, before.get(name), state);
  }
  for (const [path, listing] of Object.entries(listings)) add(path, listed.get(path), listing);
  return rows;
}
