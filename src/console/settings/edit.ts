import { batch, computed, effect, signal } from "@preact/signals";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { isSaving, settings } from "../api/live.ts";

/** Unsaved value of a setting. */
export interface Edit {
  /** Setting at the beginning of the edit. */
  readonly base: Setting;
  readonly mine: string;
}

/** Another client has saved the setting: its original value, its current value and the edit. */
export interface Conflict {
  readonly key: string;
  readonly edit: Edit;
  /** Undefined: the setting was deleted. */
  readonly theirs: Setting | undefined;
}

/**
 * Edits by key. They stay across pages, lost connections and changes of other clients, until they
 * are saved.
 */
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

/** Sets the value of an edit. The original value removes the edit. */
export function edit(setting: Setting, mine: string): void {
  const known = edits.peek().get(setting.key);
  const base = known?.base ?? setting;
  const same = !setting.secret && mine === base.value;
  batch(() => {
    forget(violations, [setting.key]);
    // A conflict must be resolved explicitly.
    if (same && !isConflict({ base, mine }, setting)) forget(edits, [setting.key]);
    else edits.value = new Map(edits.peek()).set(setting.key, { base, mine });
  });
}

/** Discards the edits of settings. */
export function discard(keys: readonly string[]): void {
  batch(() => {
    forget(edits, keys);
    forget(violations, keys);
  });
}

/** Resolves a conflict with the value of the edit. */
export function keepMine({ key, edit, theirs }: Conflict): void {
  const { mine } = edit;
  const base = theirs ?? { ...edit.base, value: "", revision: 0n, etag: "0" };
  if (theirs !== undefined && !theirs.secret && mine === theirs.value) discard([key]);
  else edits.value = new Map(edits.peek()).set(key, { base, mine });
}

function isConflict({ base, mine }: Edit, theirs: Setting | undefined): boolean {
  if (theirs === undefined) return base.revision !== 0n;
  if (theirs.etag === base.etag) return false;
  return theirs.secret || (theirs.value !== base.value && theirs.value !== mine);
}

/**
 * Discards edits whose value another client has saved, and rebases those whose setting has changed
 * back. Edits do not change during a save of this page, because a saved value may be reverted.
 */
export function followEdits(): void {
  effect(() => {
    const live = settings.value;
    if (live === undefined || isSaving.value) return;
    for (const [key, { base, mine }] of edits.peek()) {
      const now = live.byKey.get(key);
      if (now === undefined || now.etag === base.etag || now.secret) continue;
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
