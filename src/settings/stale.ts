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

/** Something was saved between the look at the history and the decision: it is looked at anew. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Whether something has changed since it was read: only then does the history have to be asked. */
export function hasStale(inputs: readonly SettingInput[], base: Snapshot): boolean {
  return inputs.some((input) => isStale(input, base));
}

/**
 * What a page has changed of a group that it sends back whole: without the settings that somebody else
 * has changed since they were read, and whose value is still the one that was read then.
 *
 * It holds for the settings of one group, as pages send them. A list of several groups is a backup that
 * is brought back: there every value is meant.
 *
 * @throws RevisionConflict when the history does not say any more what was read.
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
  const oldest = await deps.store.oldestRevision();
  const asked = stale.map(({ key, seenRevision: after = 0 }) => ({ key, after }));
  const kept = asked.filter(({ after }) => after + 1 >= oldest);
  const found = await deps.store.firstChanges(kept, base.revision);
  const firstOf = new Map(found.map(({ key, after, change }) => [`${after} ${key}`, change]));
  for (const input of stale) {
    const { key, seenRevision: seen = 0 } = input;
    const change = firstOf.get(`${seen} ${key}`);
    const unset = seen === 0 ? base.get(key)?.definition?.default : undefined;
    const value = change?.oldValue ?? unset;
    const isKnown = change !== undefined || unset !== undefined;
    // What was read then is forgotten: taking the value might revert what others have set.
    if (!isKnown) throw new RevisionConflict(seen, key);
    const isSame =
      change?.oldHash === null || change?.oldHash === undefined
        ? value === input.value
        : deps.fingerprint.isOf(change.oldHash, input.value ?? "");
    // The key of the hash is not known any more.
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
  // What was masked when it was read is sent back unchanged.
  if (item.secret && value === MASK) return false;
  return item.revision > seenRevision && item.value !== value;
}

function isOneGroup(inputs: readonly SettingInput[], base: Snapshot): boolean {
  return new Set(inputs.map(({ key }) => base.get(key)?.group)).size <= 1;
}

/** Others may save the same settings at the same time: then it is looked at anew. */
export async function whileMoved<T>(attempt: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
      if (tries >= 10) throw new ServiceError(Code.Aborted, message("SAVED_ALL_THE_TIME"));
    }
  }
}
