import type { Catalogue } from "./catalogue.ts";

/** Driver names, each list in code point order. */
export interface CatalogueDifference {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What a client that knows `before` has to read anew, and to forget, to know `after`. */
export function diffCatalogues(before: Catalogue, after: Catalogue): CatalogueDifference {
  return {
    added: after.names.filter((name) => !before.drivers.has(name)),
    changed: after.names.filter((name) => before.drivers.has(name) && differs(name, before, after)),
    removed: before.names.filter((name) => !after.drivers.has(name)),
  };
}

function differs(name: string, before: Catalogue, after: Catalogue): boolean {
  const [old, current] = [before.get(name), after.get(name)];
  // Drivers that no file touched are the same objects; text decides for those read anew.
  return old !== current && JSON.stringify(old) !== JSON.stringify(current);
}
