import { isDescribedAs, type SettingItem } from "./item.ts";
import type { ItemChange } from "./snapshot.ts";

/** What a draft reads through to: a snapshot, or the drafts before it in the same commit. */
export interface Base {
  readonly revision: number;
  /** The highest position of a custom setting. */
  readonly lastPosition: number;
  get(key: string): SettingItem | undefined;
  /** All keys, in no order. */
  keys(): Iterable<string>;
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
  /** The position of a custom setting that is about to be added. */
  nextPosition(): number;
  /** The changes so far, each key once. */
  changes(): ItemChange[];
}

/** Makes an empty draft. */
export function createDraft(base: Base): Draft {
  const staged = new Map<string, SettingItem | undefined>();
  const stage = (key: string, item: SettingItem | undefined, counts = false): void => {
    const before = base.get(key);
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
    for (const [key, item] of staged) if (item !== undefined) yield key;
  }
  return {
    revision: base.revision,
    keys,
    get lastPosition() {
      return base.lastPosition + added;
    },
    nextPosition,
    get: (key) => (staged.has(key) ? staged.get(key) : base.get(key)),
    put: (item, counts) => stage(item.key, item, counts),
    delete: (key) => stage(key, undefined),
    changes: () => [...staged],
  };
}

function isSame(a: SettingItem, b: SettingItem): boolean {
  return a.value === b.value && isDescribedAs(a, b);
}
