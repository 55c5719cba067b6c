import { setImmediate as nextTurn } from "node:timers/promises";

/** Elements that are handled in one turn of the event loop: well under a millisecond of work. */
export const PER_TURN = 100;
/** Longest list that is handled at once. */
export const SHORT = 500;

/**
 * Makes something of each item. A long list takes several turns of the event loop, so that it holds up
 * nobody else's call, and gives a promise.
 */
export function mapInTurns<T, R>(items: readonly T[], make: (item: T) => R): R[] | Promise<R[]> {
  return items.length <= SHORT ? items.map(make) : mapSlices(items, make);
}

async function mapSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const made: R[] = [];
  for (let start = 0; start < items.length; start += PER_TURN) {
    for (const item of items.slice(start, start + PER_TURN)) made.push(make(item));
    await nextTurn();
  }
  return made;
}
