import type { Amounts, AnyRules, Item, Kind, KindRules } from "./kind.ts";
import { replaceIn } from "./limit.ts";
import { createView, type View } from "./view.ts";

/** Change of a record: its item afterwards, or undefined for a deleted one. */
export interface ItemChange<I extends Item = Item> {
  readonly kind: Kind<I>;
  readonly key: string;
  readonly item: I | undefined;
}

/** All records at one revision. Immutable: a commit creates a new snapshot. */
export interface Snapshot {
  readonly revision: number;
  /** Mark of the revision; empty: it has none, or there is no revision. */
  readonly mark: string;
  /** Amounts of all records together, by the names of their limits. */
  readonly totals: Amounts;
  /** Records of a kind in their order. The same object until one of them changes. */
  of<I extends Item>(kind: Kind<I>): View<I>;
  get<I extends Item>(kind: Kind<I>, key: string): I | undefined;
  /** @throws Error for a kind that the ledger does not have. */
  rules<I extends Item>(kind: Kind<I>): KindRules<I>;
  /** Tokens of all kinds. */
  kinds(): readonly Kind<Item>[];
  /** Beginnings of the names of records, of the kinds that have one. */
  prefixes(): readonly string[];
  /**
   * Returns the snapshot after changes.
   *
   * @param mark of the revision. Default: that of this snapshot.
   */
  with(revision: number, changes: Iterable<ItemChange>, mark?: string): Snapshot;
}

/** Records of one kind, for a new snapshot. */
export interface KindItems {
  readonly rules: AnyRules;
  /** In their order. */
  readonly items: Iterable<Item>;
}

/** Creates a snapshot without an earlier one. */
export function createSnapshot(revision: number, kinds: readonly KindItems[], mark = ""): Snapshot {
  let totals: Amounts = {};
  const entries = new Map<string, Entry>();
  for (const { rules, items } of kinds) {
    const view: View<Item> = createView(rules, items);
    for (const item of view.items()) totals = replaceIn(totals, rules, undefined, item);
    entries.set(rules.kind.name, { rules, view });
  }
  return new KindsSnapshot(revision, mark, totals, entries);
}

interface Entry {
  readonly rules: AnyRules;
  readonly view: View<Item>;
}

class KindsSnapshot implements Snapshot {
  readonly revision: number;
  readonly mark: string;
  readonly totals: Amounts;
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(
    revision: number,
    mark: string,
    totals: Amounts,
    entries: ReadonlyMap<string, Entry>,
  ) {
    this.revision = revision;
    this.mark = mark;
    this.totals = totals;
    this.#entries = entries;
  }

  of<I extends Item>(kind: Kind<I>): View<I> {
    return this.#entry(kind).view as unknown as View<I>;
  }

  get<I extends Item>(kind: Kind<I>, key: string): I | undefined {
    return this.of(kind).get(key);
  }

  rules<I extends Item>(kind: Kind<I>): KindRules<I> {
    return this.#entry(kind).rules;
  }

  kinds(): readonly Kind<Item>[] {
    return [...this.#entries.values()].map(({ rules }) => rules.kind);
  }

  prefixes(): readonly string[] {
    return [...this.#entries.values()].flatMap(({ rules: { prefix } }) => prefix || []);
  }

  with(revision: number, changes: Iterable<ItemChange>, mark = this.mark): Snapshot {
    let { totals } = this;
    const byKind = new Map<string, Map<string, Item | undefined>>();
    for (const { kind, key, item } of changes) {
      const changed = byKind.get(kind.name) ?? new Map<string, Item | undefined>();
      const { rules, view } = this.#entry(kind);
      const before = changed.has(key) ? changed.get(key) : view.get(key);
      totals = replaceIn(totals, rules, before, item);
      byKind.set(kind.name, changed.set(key, item));
    }
    const entries = new Map(this.#entries);
    for (const [name, changed] of byKind) {
      const { rules, view } = this.#entry({ name });
      entries.set(name, { rules, view: view.with(changed) });
    }
    return new KindsSnapshot(revision, mark, totals, entries);
  }

  #entry({ name }: { readonly name: string }): Entry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new Error(`the ledger has no records of the kind ${name}`);
    return entry;
  }
}
