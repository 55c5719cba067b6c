import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { RevisionConflict } from "./conflict.ts";
import type { Draft } from "./draft.ts";
import type { SettingInput } from "./save.ts";
import type { Snapshot } from "./snapshot.ts";
import type { SettingStore } from "./store.ts";
import { MASK } from "./value.ts";

/** The history has grown between its reading and the decision: retry. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Reports whether something has changed since it was read: only then the history is needed. */
export function hasStale(inputs: readonly SettingInput[], base: Snapshot): boolean {
  return inputs.some((input) => isStale(input, base));
}

/**
 * Removes items that a page sends back unchanged although another client has changed them since the
 * page read them.
 *
 * This applies to saves of one group, as pages send them. A list of several groups is a restored
 * backup, of which every value counts.
 *
 * @throws RevisionConflict when the history no longer has the values that were read.
 */
export async function withoutStale(
  inputs: readonly SettingInput[],
  base: Snapshot,
  deps: {
    readonly store: Pick<SettingStore, "firstChanges" | "oldestRevision">;
    readonly fingerprint: Fingerprint;
  },
): Promise<readonly SettingInput[]> {
  if (!isOneGroup(inputs, base)) return inputs;
  const stale = inputs.filter((input) => isStale(input, base));
  const unchanged = new Set<SettingInput>();
  const asked = stale.map(({ key, seenRevision: after = 0 }) => ({ key, after }));
  const found = await deps.store.firstChanges(asked, base.revision);
  // After the read of the changes, the oldest of which may be deleted at any time.
  const oldest = await deps.store.oldestRevision();
  const kept = found.filter(({ after }) => after + 1 >= oldest);
  const firstOf = new Map(kept.map(({ key, after, change }) => [`${after} ${key}`, change]));
  for (const input of stale) {
    const { key, seenRevision: seen = 0 } = input;
    const change = firstOf.get(`${seen} ${key}`);
    const unset = seen === 0 ? base.get(key)?.definition?.default : undefined;
    const value = change?.oldValue ?? unset;
    const isKnown = change !== undefined || unset !== undefined;
    // The value that was read is no longer in the history: accepting could revert a change by
    // another client.
    if (!isKnown) throw new RevisionConflict(seen, key);
    const isSame =
      change?.oldHash === null || change?.oldHash === undefined
        ? value === input.value
        : deps.fingerprint.isOf(change.oldHash, input.value ?? "");
    // The key of the hash is no longer known.
    if (isSame === undefined) throw new RevisionConflict(seen, key);
    if (isSame) unchanged.add(input);
  }
  return inputs.filter((input) => !unchanged.has(input));
}

/** @throws Moved when a setting has changed since the history was read. */
export function refuseMoved(draft: Draft, inputs: readonly SettingInput[], base: Snapshot): void {
  for (const { key, seenRevision } of inputs)
    if (seenRevision !== undefined && draft.get(key)?.revision !== base.get(key)?.revision)
      throw new Moved();
}

function isStale({ key, value, seenRevision }: SettingInput, base: Snapshot): boolean {
  const item = base.get(key);
  if (seenRevision === undefined || item === undefined) return false;
  // A masked value is sent back unchanged.
  if (item.secret && value === MASK) return false;
  return item.revision > seenRevision && item.value !== value;
}

function isOneGroup(inputs: readonly SettingInput[], base: Snapshot): boolean {
  return new Set(inputs.map(({ key }) => base.get(key)?.group)).size <= 1;
}

/** Retries while other clients save the same settings at the same time. */
export async function retryWhileMoved<T>(attempt: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
      if (tries >= 10) throw new ServiceError(Code.Aborted, message("SAVED_ALL_THE_TIME"));
    }
  }
}
