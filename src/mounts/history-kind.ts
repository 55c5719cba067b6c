import type { Grant } from "../access/grant.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { RecordKind } from "../history/kind.ts";
import {
  isMountChange,
  MOUNTS,
  mountKey,
  pathsOfChange,
  readMountKey,
} from "../settings/mount-key.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { decideWithEffects } from "./effect.ts";
import { describeMountChange } from "./history-change.ts";
import { isSecretItem } from "./input.ts";
import { isAllowed, type Mount } from "./mount.ts";
import { restoreMounts } from "./restore.ts";
import { redirectedOf } from "./save.ts";

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

/**
 * Mounts as a kind of records in the history: a mount is one record, with its secrets, which the
 * history stores as changes of their own.
 */
export function mountsKind({
  mounts,
  sites,
  running,
  driverOf,
  nameOf,
  managedBy,
}: MountsKindDeps): RecordKind {
  const find: RecordKind["find"] = (text, grant) => mounts().get(nameOf(text, grant))?.name;
  return {
    name: "mount",
    plural: "mounts",
    rows: MOUNTS,
    scopes: { read: "mounts:read", restore: "mounts:write" },
    recordOf: (change) => (isMountChange(change) ? readMountKey(change.key)?.name : undefined),
    keyOf: (name) => mountKey(name),
    find,
    mayName: (grant, text) => {
      if (grant.limits.length === 0) return true;
      const mount = mounts().get(nameOf(text, grant));
      return mount !== undefined && isAllowed(grant, mount);
    },
    storedKeys: (text) => [mountKey(text.normalize("NFC"))],
    allows: (grant, change) => {
      if (grant.limits.length === 0) return true;
      const paths = pathsOfChange(change) ?? [];
      return paths.length > 0 && paths.every(grant.allowsMount);
    },
    hides: (grant, { oldHash, newHash }) =>
      (oldHash !== null || newHash !== null) && !grant.has("mounts:reveal"),
    describe: (name, changes) => describeMountChange(name, changes, sites()),
    restore: async (draft, changes, grant) =>
      decideWithEffects(running(), () =>
        restoreMounts(draft, changes, {
          grant,
          isSecret: (driver, item) => isSecretItem(driverOf(driver), item),
          redirected: (now, mount) =>
            redirectedOf(now, { mount, given: [] }, "", {
              driverOf,
              sites: sites(),
              reveals: grant.has("mounts:reveal"),
              isTaken: false,
            }).map(({ field }) => field),
          managedBy,
          sites: sites(),
        }),
      )(draft),
  };
}
