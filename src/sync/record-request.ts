import { randomBytes } from "node:crypto";
import { reviveText } from "../messages/message.ts";
import { REQUEST, type RecordStateStore } from "./record-state-store.ts";

/** Maximum number of rows with requests for a site, in addition to two joined ones: a round that hangs delays requests. */
const MAX_WAITING = 32;

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

/** A stored request. */
export interface StoredRequest<S, L> {
  /** Name of its row. */
  readonly name: string;
  readonly request: StateRequest<S, L>;
}

/** Requests of all processes to the process with the lease, which is the only one that writes states. */
export interface StateRequests<S, L> {
  /** Stores a request for a site. */
  add(siteId: string, request: StateRequest<S, L>): Promise<void>;
  /** Stored requests for a site, in their order. */
  ofSite(siteId: string): Promise<readonly StoredRequest<S, L>[]>;
  /** Sites with stored requests. */
  sites(): Promise<ReadonlySet<string>>;
  remove(siteId: string, name: string): Promise<void>;
}

export function createStateRequests<S, L>(store: RecordStateStore): StateRequests<S, L> {
  let count = 0;
  /** Name of the row of a new request. Names sort in the order of requests, and differ between processes. */
  const nextName = (): string => {
    count += 1;
    const order = `${String(Date.now()).padStart(14, "0")}-${String(count).padStart(9, "0")}`;
    return `${REQUEST}${order}-${randomBytes(4).toString("hex")}`;
  };
  const ofSite = async (siteId: string): Promise<readonly StoredRequest<S, L>[]> =>
    (await store.list("requests"))
      .filter((row) => row.siteId === siteId)
      .map(({ name, state }) => ({ name, request: JSON.parse(state, reviveText) }));
  const add = async (siteId: string, request: StateRequest<S, L>): Promise<void> => {
    const waiting = await ofSite(siteId);
    const joined = waiting.length < MAX_WAITING ? [] : waiting;
    const all = [...joined.map((stored) => stored.request), request];
    // Only requests of one kind are joined: some do not permit writes to the site.
    const kinds = [all.filter(permitsWrites), all.filter((each) => !permitsWrites(each))];
    await store.write([
      ...joined.map(({ name }) => ({ siteId, name })),
      ...kinds
        .filter((kind) => kind.length > 0)
        .map((kind) => ({ siteId, name: nextName(), state: JSON.stringify(join(kind)) })),
    ]);
  };
  let last: Promise<void> = Promise.resolve();
  return {
    ofSite,
    add: (siteId, request) => {
      const done = last.then(() => add(siteId, request));
      last = done.catch(() => undefined);
      return done;
    },
    sites: async () => new Set((await store.list("requests")).map(({ siteId }) => siteId)),
    remove: (siteId, name) => store.write([{ siteId, name }]),
  };
}

/** Reports whether a request permits writes to its site: a rename or a listing alone does not. */
export function permitsWrites({
  forget = [],
  listings = {},
}: StateRequest<unknown, unknown>): boolean {
  return forget.length === 0 && Object.keys(listings).length === 0;
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
