import { isDescribedAs, type SettingItem } from "./item.ts";
import type { ItemChange } from "./snapshot.ts";

/** What a draft reads through to: a snapshot, or the drafts before it in the same commit. */
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
  /** Keys of all mounts and their secret items, likewise. */
  mountKeys(): Iterable<string>;
}

/**
 * Changes on top of a base that nobody else sees yet. A change that leaves an item as it is counts
 * as none, unless its caller must not learn that.
 */
export interface Draft extends Base {
  /**
   * Sets a setting, or adds it.
   *
   * @param counts whether it is a change also where it leaves the item as it is. Default: false.
   */
  put(item: SettingItem, counts?: boolean): void;
  delete(key: string): void;
  /** Sets a mount or a secret item of one. */
  putMount(item: SettingItem, counts?: boolean): void;
  deleteMount(key: string): void;
  /** The position of a custom setting that is about to be added. */
  nextPosition(): number;
  /** The changes so far, each key once. */
  changes(): ItemChange[];
}

/** Makes an empty draft. */
export function createDraft(base: Base): Draft {
  const staged = new Map<string, SettingItem | undefined>();
  const stage = (key: string, item: SettingItem | undefined, counts = false): void => {
    const before = base.get(key) ?? base.mount(key);
    if (counts) staged.set(key, item);
    else if (
      before === item ||
      (before !== undefined && item !== undefined && isSame(before, item))
    )
      staged.delete(key);
    else staged.set(key, item);
  };
  let added = 0;
  const nextPosition = (): number => {
    added += 1;
    return base.lastPosition + added;
  };
  function* keys(): Iterable<string> {
    for (const key of base.keys()) if (!staged.has(key)) yield key;
    for (const [key, item] of staged) if (item !== undefined && item.origin !== "mount") yield key;
  }
  function* mountKeys(): Iterable<string> {
    for (const key of base.mountKeys()) if (!staged.has(key)) yield key;
    for (const [key, item] of staged) if (item?.origin === "mount") yield key;
  }
  /** Settings and mounts share keys: neither call may replace what is of the other kind. */
  const need = (key: string, isFree: boolean): void => {
    if (!isFree) throw new Error(`the key ${key} is of another kind`);
  };
  return {
    revision: base.revision,
    keys,
    mountKeys,
    get lastPosition() {
      return base.lastPosition + added;
    },
    nextPosition,
    get: (key) => (staged.has(key) ? onlySetting(staged.get(key)) : base.get(key)),
    mount: (key) => (staged.has(key) ? onlyMount(staged.get(key)) : base.mount(key)),
    put: (item, counts) => {
      need(item.key, item.origin !== "mount" && base.mount(item.key) === undefined);
      stage(item.key, item, counts);
    },
    delete: (key) => {
      need(key, base.mount(key) === undefined);
      stage(key, undefined);
    },
    putMount: (item, counts) => {
      need(item.key, item.origin === "mount" && base.get(item.key) === undefined);
      stage(item.key, item, counts);
    },
    deleteMount: (key) => {
      need(key, base.get(key) === undefined);
      stage(key, undefined);
    },
    changes: () => [...staged],
  };
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
