import type { RecordKind } from "../history/kind.ts";
import { describeChange } from "../ledger/commit.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { SETTINGS } from "./kind.ts";
import { isMountChange } from "./mount-key.ts";
import { type RestoreRules, restoreSettings } from "./restore.ts";
import { rightsOfGrant } from "./rights.ts";

/** Settings as a kind of records in the history: each setting is a record with one value. */
export function settingsKind({
  snapshot,
  fingerprint,
  managedBy,
}: Pick<RestoreRules, "fingerprint" | "managedBy"> & {
  readonly snapshot: () => Snapshot;
}): RecordKind {
  return {
    name: "setting",
    plural: "settings",
    rows: SETTINGS,
    scopes: {},
    recordOf: (change) => (isMountChange(change) ? undefined : change.key),
    keyOf: (key) => key,
    find: (key) => snapshot().get(SETTINGS, key)?.key,
    mayName: (grant, key) => rightsOfGrant(grant, snapshot).canRead(key),
    storedKeys: (key) => [key],
    allows: (grant, change) => rightsOfGrant(grant, snapshot).canReadChange(change),
    hides: (grant, change) => rightsOfGrant(grant, snapshot).isMaskedChange(change),
    describe: (_key, changes) => ({ ...describeChange(one(changes)), items: [] }),
    restore: (draft, changes, grant) =>
      restoreSettings(draft, changes, {
        fingerprint,
        managedBy,
        rights: rightsOfGrant(grant, snapshot),
      }),
  };
}

function one<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined) throw new Error("a record without a change");
  return first;
}
