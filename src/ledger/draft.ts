import type { Item, Kind, KindRules } from "./kind.ts";
import type { ItemChange } from "./snapshot.ts";

/** State below a draft: a snapshot, or earlier drafts of the same commit. */
export interface Base {
  readonly revision: number;
  get<I extends Item>(kind: Kind<I>, key: string): I | undefined;
  /** Keys of all records of a kind, in no order. */
  keys(kind: Kind<Item>): Iterable<string>;
  /** The highest position of a record of a kind. */
  lastPosition(kind: Kind<Item>): number;
  rules<I extends Item>(kind: Kind<I>): KindRules<I>;
  /** Beginnings of the names of records, of the kinds that have one. */
  prefixes(): readonly string[];
}

/**
 * Uncommitted changes on top of a base. Setting a record to its current state is not a change,
 * unless the caller must not learn the current state.
 */
export interface Draft extends Base {
  /**
   * Sets a record, or adds it.
   *
   * @param counts whether an unchanged record counts as a change. Default: false.
   * @returns whether it is a change.
   */
  put<I extends Item>(kind: Kind<I>, item: I, counts?: boolean): boolean;
  /** @returns whether it is a change. */
  delete(kind: Kind<Item>, key: string): boolean;
  /** Position for the next record of a kind. */
  nextPosition(kind: Kind<Item>): number;
  /** Changes of the draft, each record once. */
  changes(): ItemChange[];
}

/** Creates an empty draft. */
export function createDraft(base: Base): Draft {
  return new StagedDraft(base);
}

/** A class, because each save creates one: closures would be a tenth of a save's garbage. */
class StagedDraft implements Draft {
  readonly revision: number;
  readonly #base: Base;
  readonly #staged = new StagedItems();
  readonly #added = new Map<string, number>();

  constructor(base: Base) {
    this.revision = base.revision;
    this.#base = base;
  }

  lastPosition(kind: Kind<Item>): number {
    return this.#base.lastPosition(kind) + (this.#added.get(kind.name) ?? 0);
  }

  nextPosition(kind: Kind<Item>): number {
    this.#added.set(kind.name, (this.#added.get(kind.name) ?? 0) + 1);
    return this.lastPosition(kind);
  }

  rules<I extends Item>(kind: Kind<I>): KindRules<I> {
    return this.#base.rules(kind);
  }

  prefixes(): readonly string[] {
    return this.#base.prefixes();
  }

  get<I extends Item>(kind: Kind<I>, key: string): I | undefined {
    return this.#staged.has(kind, key) ? this.#staged.get(kind, key) : this.#base.get(kind, key);
  }

  keys(kind: Kind<Item>): Iterable<string> {
    return this.#staged.keysOver(kind, this.#base.keys(kind));
  }

  put<I extends Item>(kind: Kind<I>, item: I, counts?: boolean): boolean {
    return this.#stage(kind, this.rules(kind).keyOf(item), item, counts);
  }

  delete(kind: Kind<Item>, key: string): boolean {
    return this.#stage(kind, key, undefined);
  }

  changes(): ItemChange[] {
    return this.#staged.changes();
  }

  #stage<I extends Item>(kind: Kind<I>, key: string, item: I | undefined, counts = false): boolean {
    const before = this.#base.get(kind, key);
    const isKept =
      before === item ||
      (before !== undefined && item !== undefined && this.rules(kind).isSame(before, item));
    if (isKept && !counts) this.#staged.remove(kind, key);
    else this.#staged.set(kind, key, item);
    return !isKept || counts;
  }
}

/** Creates a draft that ignores all changes. */
export function createTrial(base: Base): Draft {
  return new TrialDraft(base);
}

class TrialDraft extends StagedDraft {
  override put(): boolean {
    return false;
  }

  override delete(): boolean {
    return false;
  }

  override nextPosition(kind: Kind<Item>): number {
    return this.lastPosition(kind);
  }
}

/** Items by kind and key; undefined is a deleted one. */
export class StagedItems {
  readonly #kinds = new Map<string, { kind: Kind<Item>; items: Map<string, Item | undefined> }>();

  has(kind: Kind<Item>, key: string): boolean {
    return this.#kinds.get(kind.name)?.items.has(key) ?? false;
  }

  get<I extends Item>(kind: Kind<I>, key: string): I | undefined {
    return this.#kinds.get(kind.name)?.items.get(key) as I | undefined;
  }

  set(kind: Kind<Item>, key: string, item: Item | undefined): void {
    const found = this.#kinds.get(kind.name);
    if (found === undefined) this.#kinds.set(kind.name, { kind, items: new Map([[key, item]]) });
    else found.items.set(key, item);
  }

  remove(kind: Kind<Item>, key: string): void {
    this.#kinds.get(kind.name)?.items.delete(key);
  }

  /** Keys of a kind on top of those of a base. */
  *keysOver(kind: Kind<Item>, below: Iterable<string>): Iterable<string> {
    const items = this.#kinds.get(kind.name)?.items;
    for (const key of below) if (items?.has(key) !== true) yield key;
    for (const [key, item] of items ?? []) if (item !== undefined) yield key;
  }

  changes(): ItemChange[] {
    return [...this.#kinds.values()].flatMap(({ kind, items }) =>
      [...items].map(([key, item]) => ({ kind, key, item })),
    );
  }
}
