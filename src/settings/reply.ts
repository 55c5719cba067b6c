import type { Snapshot } from "../ledger/snapshot.ts";

/**
 * Caches a reply per snapshot: all calls at a revision share the message object and its encoded
 * bytes.
 */
export function memoizePerSnapshot<M>(make: (snapshot: Snapshot) => M): (snapshot: Snapshot) => M {
  let kept: { readonly snapshot: Snapshot; readonly reply: M } | undefined;
  return (snapshot) => {
    if (kept?.snapshot !== snapshot) kept = { snapshot, reply: make(snapshot) };
    return kept.reply;
  };
}

/** Bounds of cached replies that depend on the request. */
export interface ReplyBounds {
  /** Bytes of all kept replies together, as estimated by {@link ReplyCacheOptions.sizeOf}. */
  readonly bytes: number;
  readonly entries: number;
}

/** Default bounds. A reply is encoded in up to four forms, so that its memory is about four times its size. */
const BOUNDS: ReplyBounds = { bytes: 16 * 2 ** 20, entries: 4_096 };

interface Entry {
  readonly bytes: number;
  drop(): void;
}

/**
 * Budget shared by several caches of replies: when a new entry does not fit, the oldest one is
 * dropped.
 */
export class ReplyBudget {
  readonly #bounds: ReplyBounds;
  /** In the order in which they were added. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;

  constructor(bounds: ReplyBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Estimated bytes of all kept replies. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(entry: Entry): void {
    // An entry that would evict all others is not cached.
    if (entry.bytes > this.#bounds.bytes) {
      entry.drop();
      return;
    }
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries) {
      if (this.#bytes <= this.#bounds.bytes && this.#entries.size <= this.#bounds.entries) break;
      this.#remove(oldest);
    }
  }

  clear(): void {
    for (const entry of this.#entries) this.#remove(entry);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry);
    this.#bytes -= entry.bytes;
    entry.drop();
  }
}

/** Returns the reply for an owner (a snapshot, a commit) and a key, from the cache or by `make`. */
export type ReplyCache<O extends object, M> = (owner: O, key: string, make: () => M) => M;

/**
 * Cache of replies by owner and key, within a budget.
 *
 * @param sizeOf estimates the bytes of a reply that is not encoded yet.
 */
export function createReplyCache<O extends object, M>(
  budget: ReplyBudget,
  sizeOf: (reply: M) => number,
): ReplyCache<O, M> {
  const owners = new WeakMap<O, Map<string, M>>();
  // Most requests have the same owner as the previous one.
  let last: { readonly owner: O; readonly kept: Map<string, M> } | undefined;
  const keptOf = (owner: O): Map<string, M> => {
    if (last?.owner === owner) return last.kept;
    const kept = owners.get(owner) ?? new Map<string, M>();
    owners.set(owner, kept);
    last = { owner, kept };
    return kept;
  };
  return (owner, key, make) => {
    const kept = keptOf(owner);
    const found = kept.get(key);
    if (found !== undefined) return found;
    const reply = make();
    kept.set(key, reply);
    budget.add({ bytes: sizeOf(reply) + key.length, drop: () => void kept.delete(key) });
    return reply;
  };
}

/** Clears a budget when the snapshot that its replies show is replaced. */
export function clearsWithSnapshot(budget: ReplyBudget): (snapshot: Snapshot) => Snapshot {
  let current: Snapshot | undefined;
  return (snapshot) => {
    if (current !== snapshot) budget.clear();
    current = snapshot;
    return snapshot;
  };
}
