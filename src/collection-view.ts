import { memoize } from "./memoize.ts";
import type { View } from "./state-feed.ts";

/** State of named items. An item is the same object until it changes. */
export interface Collection<I> {
  readonly items: ReadonlyMap<string, I>;
}

/** Items for a message. */
export interface Difference<I> {
  readonly changed: readonly I[];
  /** As they were last sent. */
  readonly removed: readonly I[];
}

/** @param isVisible whether the view shows an item. Default: all. */
export function createView<S extends Collection<I>, I, M>(
  show: (difference: Difference<I>, state: S) => M | Promise<M>,
  isVisible?: (item: I) => boolean,
): View<S, M> {
  const visible = memoize((state: S): ReadonlyMap<string, I> => {
    if (isVisible === undefined) return state.items;
    return new Map([...state.items].filter(([, item]) => isVisible(item)));
  });
  return {
    first: memoize((state: S) =>
      show({ changed: [...visible(state).values()], removed: [] }, state),
    ),
    step: perPair((from: S, to: S) => {
      const before = visible(from);
      const after = visible(to);
      const changed = [...after].filter(([name, item]) => before.get(name) !== item);
      const removed = [...before].filter(([name]) => !after.has(name));
      if (changed.length === 0 && removed.length === 0) return undefined;
      return show(
        { changed: changed.map(([, item]) => item), removed: removed.map(([, item]) => item) },
        to,
      );
    }),
  };
}

/** Memoizes a function of two states. */
export function perPair<S extends object, M>(
  compute: (from: S, to: S) => M,
): (from: S, to: S) => M {
  const from = memoize((before: S) => memoize((after: S) => compute(before, after)));
  return (before, after) => from(before)(after);
}
