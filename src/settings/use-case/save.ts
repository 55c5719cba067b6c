import type { RecordEtags } from "../../ledger/record-etag.ts";
import type { Snapshot } from "../../ledger/snapshot.ts";
import type { LedgerStore } from "../../ledger/store.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import {
  hasStale,
  refuseChanged,
  refuseMoved,
  retryWhileMoved,
  type Settled,
  withoutStale,
} from "../conflict.ts";
import type { Skipped } from "../item.ts";
import { SETTINGS } from "../kind.ts";
import type { SettingOrigin } from "../rights.ts";
import {
  decideSave,
  isHidden,
  MAX_SAVE_ITEMS,
  type SaveRules,
  type SettingInput,
} from "../save.ts";
import type { SettingChanges } from "../setting-changes.ts";
import type { SettingService } from "../setting-service.ts";

export interface SaveDeps extends SaveRules {
  readonly snapshot: () => Snapshot;
  readonly store: Pick<LedgerStore, "firstChanges" | "lastChangesBy" | "oldestRevision">;
  readonly fingerprint: Fingerprint;
  readonly etags: RecordEtags;
  /** Called with the settings that a save has left unchanged. */
  readonly onSkipped: (skipped: readonly Skipped[], origin: SettingOrigin) => void;
}

export function saveSettings(changes: SettingChanges, deps: SaveDeps): SettingService["save"] {
  const { snapshot, etags, managedBy, maxValueBytes } = deps;
  return async (all, origin, conditions = {}) => {
    const hides = origin.rights?.hides;
    // One more than the maximum, so that the save is rejected.
    const sent = all.slice(0, MAX_SAVE_ITEMS + 1);
    origin.rights?.require(sent.map(({ key }) => key));
    const changed = await retryWhileMoved(async () => {
      const base = snapshot();
      const settled = await settle(sent, base, origin, changes, deps);
      return changes.change(origin, conditions, async (draft) => {
        refuseChanged(draft, settled.inputs, etags);
        refuseMoved(draft, settled.inputs, base);
        const skipped = await decideSave(draft, settled.inputs, {
          managedBy,
          maxValueBytes,
          hides,
        });
        return [...skipped, ...settled.outdated];
      });
    });
    if (changed.result.length > 0) deps.onSkipped(changed.result, origin);
    return changed;
  };
}

/**
 * Removes inputs that only repeat an older state according to the history.
 *
 * @throws ABORTED when the history does not show the client's changes.
 */
async function settle(
  sent: readonly SettingInput[],
  base: Snapshot,
  { actor, rights }: SettingOrigin,
  changes: SettingChanges,
  { store, fingerprint, etags }: SaveDeps,
): Promise<Settled<SettingInput>> {
  const inputs = sent.map((input) => withoutSeen(input, base, rights?.hides));
  // Most saves do not need the history.
  if (!hasStale(inputs, base, etags)) return { inputs, outdated: [] };
  try {
    return await withoutStale(inputs, base, { store, fingerprint, etags, actor });
  } catch (error) {
    throw await changes.explain(error, rights);
  }
}

/**
 * Removes the read etag of a setting whose value the caller may not read: it cannot be
 * compared.
 */
function withoutSeen(input: SettingInput, base: Snapshot, hides: SaveRules["hides"]): SettingInput {
  if (!isHidden(base.get(SETTINGS, input.key), input.value, hides)) return input;
  const { seenEtag: _seen, ...rest } = input;
  return rest;
}
