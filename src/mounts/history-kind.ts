import type { Grant } from "../access/grant.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { RecordKind } from "../history/kind.ts";
import { toNfc } from "../nfc.ts";
import { type RecordChange, withEffects } from "../records/effect.ts";
import { allowsChange } from "../records/stored-change.ts";
import type { Site } from "../sites/site.ts";
import { isChangeOnSite } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { effectsOf } from "./effect.ts";
import { describeMountChange } from "./history-change.ts";
import { isSecretItem } from "./input.ts";
import { MOUNTS, SITE_MOUNTS } from "./kind.ts";
import { isAllowed, type Mount } from "./mount.ts";
import { restoreMounts } from "./restore.ts";
import { redirectedOf } from "./save.ts";
import { subjectOf } from "./subject.ts";

export interface MountsKindDeps {
  /** All mounts, by name. */
  readonly mounts: () => ReadonlyMap<string, Mount>;
  readonly sites: () => Pick<SiteNames, "ids" | "nameOf">;
  /** Sites whose mounts are written to their servers. */
  readonly running: () => readonly Pick<Site, "id" | "name">[];
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
  const find: RecordKind["find"] = (text, grant) => mounts().get(nameOf(text, grant))?.name;
  return {
    name: "mount",
    plural: "mounts",
    kind: MOUNTS,
    scopes: { read: "mounts:read", restore: "mounts:write" },
    keyOf: (name) => subjectOf(name),
    find,
    mayName: (grant, text) => {
      if (grant.limits.length === 0) return true;
      const mount = mounts().get(nameOf(text, grant));
      return mount !== undefined && isAllowed(grant, mount);
    },
    storedKey: toNfc,
    allows: (grant, change) => allowsChange("mount", grant, change),
    isOnSite: isChangeOnSite,
    hides: (grant, { oldHashes, newHashes }) =>
      (oldHashes !== null || newHashes !== null) && !grant.has("mounts:reveal"),
    describe: (change) => describeMountChange(change, sites()),
    restore: async (draft, changes, grant) =>
      withEffects(SITE_MOUNTS, effectsNow(), () =>
        restoreMounts(draft, changes, {
          grant,
          isSecret: (driver, item) => isSecretItem(driverOf(driver), item),
          redirected: (now, mount) =>
            redirectedOf(now, { mount, given: [] }, "", {
              driverOf,
              sites: sites(),
              reveals: grant.has("mounts:reveal"),
              isAdopted: false,
            }).map(({ field }) => field),
          managedBy,
          sites: sites(),
        }),
      )(draft),
  };
}
