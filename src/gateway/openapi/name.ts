/**
 * Unique names of a document. Two names count as equal if they have the same letters and digits:
 * code generators join the words of a name in cases of their own.
 */
export class Names {
  readonly #taken = new Set<string>();

  /** The first candidate that is not taken; if all are, the last one with a number. */
  take(first: string, ...others: readonly string[]): string {
    const candidates = [first, ...others];
    const last = candidates.at(-1) ?? first;
    let name = candidates.find((one) => !this.#taken.has(folded(one)));
    for (let number = 2; name === undefined; number++) {
      const numbered = `${last}_${number}`;
      if (!this.#taken.has(folded(numbered))) name = numbered;
    }
    this.#taken.add(folded(name));
    return name;
  }
}

function folded(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

/** A type or service with its package and its name in it. */
export interface Named {
  readonly typeName: string;
  /** The name without the package. */
  readonly short: string;
}

/**
 * A name for each full name: the short one, or the full one where several have the same short name.
 * Independent of the order.
 */
export function shortNames(all: readonly Named[], names = new Names()): Map<string, string> {
  const groups = Map.groupBy(
    all.toSorted(({ typeName: a }, { typeName: b }) => (a < b ? -1 : 1)),
    ({ short }) => folded(short),
  );
  return new Map(
    [...groups.values()].flatMap((group) =>
      group.map(({ typeName, short }): [string, string] => [
        typeName,
        group.length === 1 ? names.take(short, typeName) : names.take(typeName),
      ]),
    ),
  );
}
