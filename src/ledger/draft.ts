import { isDescribedAs, type SettingItem } from "../settings/item.ts";
import type { ItemChange } from "./snapshot.ts";

/** State below a draft: a snapshot, or earlier drafts of the same commit. */
export interface Base {
  readonly revision: number;
  /** The highest position of a custom setting. */
  readonly lastPosition: number;
  /** A setting. */
  get(key: string): SettingItem | undefined;
  /** A mount, or a secret item of one. */
  mount(key: string): SettingItem | undefined;
  /** Keys of all settings, in no order. */
  keys(): Iterable<string>;
  /** Keys of all mounts and of their secret items. */
  mountKeys(): Iterable<string>;
}

/**
 * Uncommitted changes on top of a base. Setting an item to its current state is not a change,
 * unless the caller must not learn the current state.
 */
export interface Draft extends Base {
  /**
   * Sets a setting, or adds it.
   *
   * @param counts whether an unchanged item counts as a change. Default: false.
   */
  put(item: SettingItem, counts?: boolean): void;
  delete(key: string): void;
  /** Sets a mount or a secret item of one. @returns whether this is a change. */
  putMount(item: SettingItem, counts?: boolean): boolean;
  deleteMount(key: string): boolean;
  /** Position for the next custom setting. */
  nextPosition(): number;
  /** Changes of the draft, each key once. */
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
  readonly #staged = new Map<string, SettingItem | undefined>();
  #added = 0;

  constructor(base: Base) {
    this.revision = base.revision;
    this.#base = base;
  }

  get lastPosition(): number {
    return this.#base.lastPosition + this.#added;
  }

  nextPosition(): number {
    this.#added += 1;
    return this.lastPosition;
  }

  get(key: string): SettingItem | undefined {
    return this.#staged.has(key) ? onlySetting(this.#staged.get(key)) : this.#base.get(key);
  }

  mount(key: string): SettingItem | undefined {
    return this.#staged.has(key) ? onlyMount(this.#staged.get(key)) : this.#base.mount(key);
  }

  *keys(): Iterable<string> {
    for (const key of this.#base.keys()) if (!this.#staged.has(key)) yield key;
    for (const [key, item] of this.#staged)
      if (item !== undefined && item.origin !== "mount") yield key;
  }

  *mountKeys(): Iterable<string> {
    for (const key of this.#base.mountKeys()) if (!this.#staged.has(key)) yield key;
    for (const [key, item] of this.#staged) if (item?.origin === "mount") yield key;
  }

  put(item: SettingItem, counts?: boolean): void {
    requireKind(item.key, item.origin !== "mount" && this.#base.mount(item.key) === undefined);
    this.#stage(item.key, item, counts);
  }

  delete(key: string): void {
    requireKind(key, this.#base.mount(key) === undefined);
    this.#stage(key, undefined);
  }

  putMount(item: SettingItem, counts?: boolean): boolean {
    requireKind(item.key, item.origin === "mount" && this.#base.get(item.key) === undefined);
    return this.#stage(item.key, item, counts);
  }

  deleteMount(key: string): boolean {
    requireKind(key, this.#base.get(key) === undefined);
    return this.#stage(key, undefined);
  }

  changes(): ItemChange[] {
    return [...this.#staged];
  }

  /** @returns whether it is a change. */
  #stage(key: string, item: SettingItem | undefined, counts = false): boolean {
    const before = this.#base.get(key) ?? this.#base.mount(key);
    const isKept =
      before === item || (before !== undefined && item !== undefined && isSame(before, item));
    if (isKept && !counts) this.#staged.delete(key);
    else this.#staged.set(key, item);
    return !isKept || counts;
  }
}

/** Creates a draft that ignores all changes. */
export function createTrial(base: Base): Draft {
  return new TrialDraft(base);
}

class TrialDraft extends StagedDraft {
  override put(): void {}

  override delete(): void {}

  override putMount(): boolean {
    return false;
  }

  override deleteMount(): boolean {
    return false;
  }

  override nextPosition(): number {
    return this.lastPosition;
  }
}

/** Settings and mounts share keys: neither may replace the other. */
function requireKind(key: string, isFree: boolean): void {
  if (!isFree) throw new Error(`the key ${key} belongs to another kind of row`);
}

export function onlySetting(item: SettingItem | undefined): SettingItem | undefined {
  return item?.origin === "mount" ? undefined : item;
}

export function onlyMount(item: SettingItem | undefined): SettingItem | undefined {
  return item?.origin === "mount" ? item : undefined;
}

function isSame(a: SettingItem, b: SettingItem): boolean {
  return a.value === b.value && isDescribedAs(a, b);
}
