import type { Snapshot } from "../service/setting/snapshot.ts";

/** Replies of one kind that are kept for one snapshot at most: requests choose their keys. */
const MAX_KEPT = 4_096;

/**
 * Makes a reply once a snapshot: while the revision stands, every call gets the same message
 * object, and the doors its encoded bytes.
 */
export function onePerSnapshot<M>(make: (snapshot: Snapshot) => M): (snapshot: Snapshot) => M {
  let kept: { readonly snapshot: Snapshot; readonly reply: M } | undefined;
  return (snapshot) => {
    if (kept?.snapshot !== snapshot) kept = { snapshot, reply: make(snapshot) };
    return kept.reply;
  };
}

/** Likewise for replies that depend on a part of the request, named by a key. */
export function onePerKey<M>(
  make: (snapshot: Snapshot, key: string) => M,
): (snapshot: Snapshot, key: string) => M {
  const keptFor = onePerSnapshot(() => new Map<string, M>());
  return (snapshot, key) => {
    const kept = keptFor(snapshot);
    const found = kept.get(key);
    if (found !== undefined) return found;
    const reply = make(snapshot, key);
    if (kept.size < MAX_KEPT) kept.set(key, reply);
    return reply;
  };
}

/** Likewise, where what is made depends on more than the key: who asks says how to make it. */
export function onePerKind<M>(): (snapshot: Snapshot, key: string, make: () => M) => M {
  const keptFor = onePerSnapshot(() => new Map<string, M>());
  return (snapshot, key, make) => {
    const kept = keptFor(snapshot);
    const found = kept.get(key);
    if (found !== undefined) return found;
    const reply = make();
    if (kept.size < MAX_KEPT) kept.set(key, reply);
    return reply;
  };
}
