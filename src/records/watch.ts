import type { Collection } from "../collection-view.ts";
import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createStateFeed } from "../state-feed.ts";
import { createTicks } from "../ticks.ts";

/** All records of a kind at one time, as streams show them. */
export interface Watched<T, S extends object> extends Collection<T> {
  /** State from which they were read, besides their states on sites. */
  readonly source: S;
}

export interface WatchedDeps<R, T, S extends object> {
  /** Sources, which are compared by identity: each is the same object until it changes. */
  readonly source: () => S;
  readonly records: () => ReadonlyMap<string, R>;
  /** Converts a record to the value that a stream sends. */
  readonly shown: (record: R) => T;
  readonly isSame: (a: T, b: T) => boolean;
}

/** Streams of the records of a kind with their statuses. @param stopping ends them. */
export function createRecordFeed<R, T, S extends object>(
  deps: WatchedDeps<R, T, S>,
  stopping: AbortSignal,
) {
  return createStateFeed<Watched<T, S>>({
    read: (before) => readWatched(before, deps),
    isCurrent: ({ source }) => isSameSource(source, deps.source()),
    stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
}

/** Reads all records with their statuses, in ticks of the event loop. Unchanged items are kept. */
async function readWatched<R, T, S extends object>(
  before: Watched<T, S> | undefined,
  { source, records, shown, isSame }: WatchedDeps<R, T, S>,
): Promise<Watched<T, S>> {
  const from = source();
  const ticks = createTicks();
  const items = new Map<string, T>();
  const all = records();
  let isUnchanged = before !== undefined && before.items.size === all.size;
  for (const [key, record] of all) {
    if (ticks.isDue()) await ticks.next();
    const old = before?.items.get(key);
    const now = shown(record);
    const isKept = old !== undefined && isSame(old, now);
    items.set(key, isKept ? old : now);
    isUnchanged &&= isKept;
  }
  if (before !== undefined && isUnchanged && isSameSource(before.source, from)) return before;
  return { items, source: from };
}

function isSameSource<S extends object>(a: S, b: S): boolean {
  return (Object.keys(a) as (keyof S)[]).every((name) => a[name] === b[name]);
}
