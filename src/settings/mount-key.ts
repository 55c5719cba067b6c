import { FLAG, type SettingItem } from "./item.ts";
import type { StoredChange } from "./store.ts";

/** Begins the keys of mounts, which share rows, revisions and history with settings. */
export const MOUNT_PREFIX = "mount:";

/** Parsed key of a mount. */
export interface MountKey {
  readonly name: string;
  /** The site that a secret item is for; undefined: all sites. */
  readonly site: string | undefined;
  /** A secret item; undefined: the mount itself. */
  readonly item: string | undefined;
}

const FORM = /^mount:([^:@]+)(?:@([^:@]+))?(?::(.+))?$/s;

/** Parses a key; undefined: not the key of a mount. */
export function readMountKey(key: string): MountKey | undefined {
  const [, name, site, item] = FORM.exec(key) ?? [];
  return name === undefined ? undefined : { name, site, item };
}

export function mountKey(name: string, item?: string, site?: string): string {
  const place = site === undefined ? "" : `@${site}`;
  return `${MOUNT_PREFIX}${name}${place}${item === undefined ? "" : `:${item}`}`;
}

/** The row of a mount or of one of its secret items. */
export function mountItem(key: string, value: string, secret: boolean): SettingItem {
  return Object.freeze({
    ...{ key, value, help: "", type: "text", options: "", group: -1, position: 0, revision: 0 },
    ...{ flag: secret ? FLAG.private : FLAG.deprecated, secret, origin: "mount" as const },
    definition: undefined,
  });
}

/**
 * Reports whether a change in the history belongs to a mount. Custom settings have a definition.
 */
export function isMountChange({
  key,
  oldDefinition,
  newDefinition,
}: Pick<StoredChange, "key" | "oldDefinition" | "newDefinition">): boolean {
  return key.startsWith(MOUNT_PREFIX) && oldDefinition === null && newDefinition === null;
}
