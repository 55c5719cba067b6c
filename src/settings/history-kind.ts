import type { RecordKind } from "../history/kind.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { describeChange } from "./change.ts";
import { SETTINGS } from "./kind.ts";
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
    kind: SETTINGS,
    scopes: {},
    keyOf: (key) => key,
    find: (key) => snapshot().get(SETTINGS, key)?.key,
    mayName: (grant, key) => rightsOfGrant(grant, snapshot).canRead(key),
    storedKey: (key) => key,
    allows: (grant, change) => rightsOfGrant(grant, snapshot).canReadChange(change),
    hides: (grant, change) => rightsOfGrant(grant, snapshot).isMaskedChange(change),
    describe: (change) => ({ ...describeChange(change), items: [] }),
    restore: (draft, changes, grant) =>
      restoreSettings(draft, changes, {
        fingerprint,
        managedBy,
        rights: rightsOfGrant(grant, snapshot),
      }),
  };
}
