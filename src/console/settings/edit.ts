import { batch, computed, effect, signal } from "@preact/signals";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { isSaving, settings } from "../api/live.ts";

/** A value that is not saved yet. */
export interface Edit {
  /** The setting as it was when one began. */
  readonly base: Setting;
  readonly mine: string;
}

/** Another client has saved the setting: its original value, its current value and the edit. */
export interface Conflict {
  readonly key: string;
  readonly edit: Edit;
  /** Undefined: it is gone. */
  readonly theirs: Setting | undefined;
}

/** By key. They outlive pages, lost connections and changes of others, until they are saved. */
export const edits = signal<ReadonlyMap<string, Edit>>(new Map());

/** Problems of edits reported by the service, by key. */
export const violations = signal<ReadonlyMap<string, string>>(new Map());

/** Edits of settings that another client has changed to a different value. */
export const conflicts = computed<readonly Conflict[]>(() => {
  const live = settings.value;
  if (live === undefined) return [];
  return [...edits.value]
    .map(([key, edit]) => ({ key, edit, theirs: live.byKey.get(key) }))
    .filter(({ edit, theirs }) => isConflict(edit, theirs));
});

/** Changes the value that one wants. One that is as it was is no edit. */
export function edit(setting: Setting, mine: string): void {
  const known = edits.peek().get(setting.key);
  const base = known?.base ?? setting;
  const same = !setting.secret && mine === base.value;
  batch(() => {
    forget(violations, [setting.key]);
    // A conflict is decided, not typed away.
    if (same && !isConflict({ base, mine }, setting)) forget(edits, [setting.key]);
    else edits.value = new Map(edits.peek()).set(setting.key, { base, mine });
  });
}

/** Leaves settings as they are. */
export function discard(keys: readonly string[]): void {
  batch(() => {
    forget(edits, keys);
    forget(violations, keys);
  });
}

/** Resolves a conflict with the value of the edit. */
export function keepMine({ key, edit, theirs }: Conflict, mine: string = edit.mine): void {
  const base = theirs ?? { ...edit.base, value: "", revision: 0n };
  if (theirs !== undefined && !theirs.secret && mine === theirs.value) discard([key]);
  else edits.value = new Map(edits.peek()).set(key, { base, mine });
}

function isConflict({ base, mine }: Edit, theirs: Setting | undefined): boolean {
  if (theirs === undefined) return base.revision !== 0n;
  if (theirs.revision === base.revision) return false;
  return theirs.secret || (theirs.value !== base.value && theirs.value !== mine);
}

/**
 * Discards edits whose value another client has saved, and rebases those whose setting has changed
 * back. It waits during a save of this page: a value may be visible for a moment that the save does
 * not keep.
 */
export function followEdits(): void {
  effect(() => {
    const live = settings.value;
    if (live === undefined || isSaving.value) return;
    for (const [key, { base, mine }] of edits.peek()) {
      const now = live.byKey.get(key);
      if (now === undefined || now.revision === base.revision || now.secret) continue;
      if (now.value === mine) discard([key]);
      else if (now.value === base.value)
        edits.value = new Map(edits.peek()).set(key, { base: now, mine });
    }
  });
}

function forget<V>(
  from: { value: ReadonlyMap<string, V>; peek(): ReadonlyMap<string, V> },
  keys: readonly string[],
): void {
  const rest = new Map(from.peek());
  for (const key of keys) rest.delete(key);
  if (rest.size !== from.peek().size) from.value = rest;
}
