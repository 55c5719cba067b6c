import type { Grant } from "../access/grant.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { RecordKind } from "../history/kind.ts";
import { toNfc } from "../nfc.ts";
import type { RecordChange } from "../records/effect.ts";
import { describeChange } from "../records/history-change.ts";
import { historyKind } from "../records/history-kind.ts";
import { restoreRecords } from "../records/restore.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { effectsOf, type RunningSite } from "./effect.ts";
import { itemsOfMount } from "./history-change.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { Mount } from "./mount.ts";
import { restoredMount } from "./restore.ts";
import { changedNames, newlySharedNote, redirectedOf } from "./save.ts";
import { isSecretItem } from "./secret-item.ts";

export interface MountsKindDeps {
  /** All mounts, by name. */
  readonly mounts: () => ReadonlyMap<string, Mount>;
  readonly sites: () => Pick<SiteNames, "ids" | "nameOf">;
  /** Sites whose mounts are written to their servers. */
  readonly running: () => readonly RunningSite[];
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Name of the mount that a text names by its name or path; other text is not changed. */
  readonly nameOf: (text: string, grant: Grant) => string;
  /** Source that manages a mount, such as a file; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
}

/** Mounts as a kind of records in the history. */
export function mountsKind({
  mounts,
  sites,
  running,
  driverOf,
  nameOf,
  managedBy,
}: MountsKindDeps): RecordKind {
  const effectsNow = () => {
    const written = running();
    return (change: RecordChange<Mount>) => effectsOf(change, written);
  };
  return historyKind(SITE_MOUNTS, {
    all: mounts,
    keyNamed: nameOf,
    storedKey: toNfc,
    describe: (change) => describeChange(SITE_MOUNTS, change, itemsOfMount, sites()),
    effects: effectsNow,
    restore: (draft, changes, grant) =>
      restoreRecords(SITE_MOUNTS, draft, changes, {
        grant,
        managedBy,
        sites: sites(),
        restored: (change, body, now) =>
          restoredMount(change, body, now, (driver, item) => isSecretItem(driverOf(driver), item)),
        redirected: (now, mount) =>
          redirectedOf(now, { mount, given: [] }, "", {
            driverOf,
            sites: sites(),
            reveals: grant.has("mounts:reveal"),
            isAdopted: false,
          }).map(({ field }) => field),
        // As an import: a save needs the consent of its caller.
        warning: (now, mount) =>
          newlySharedNote(now, mount, { sites: sites(), reveals: grant.has("mounts:reveal") }),
        changedNames: (now, mount) => changedNames(now, mount, sites()),
      }),
  });
}
