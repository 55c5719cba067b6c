import { type KindRules, kindNamed } from "../ledger/kind.ts";
import type { StoredChange } from "../ledger/store.ts";
import { FLAG, isDescribedAs, type SettingItem } from "./item.ts";

/** Prefix of the keys of mounts, which share rows, revisions and history with settings. */
export const MOUNT_PREFIX = "mount:";

/** Mounts and their secret items in the ledger. */
export const MOUNTS = kindNamed<SettingItem>("mount");

export const mountRules: KindRules<SettingItem> = {
  kind: MOUNTS,
  keyOf: ({ key }) => key,
  positionOf: () => 0,
  isSame: (a, b) => a.value === b.value && isDescribedAs(a, b),
  amountsOf: ({ key, value }) => ({ bytes: Buffer.byteLength(key) + Buffer.byteLength(value) }),
};

/** Parsed key of a mount. */
export interface MountKey {
  readonly name: string;
  /** Id of the site that a secret item is for; undefined: all sites. */
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
    key,
    value,
    help: "",
    type: "text",
    options: "",
    group: -1,
    position: 0,
    revision: 0,
    flag: secret ? FLAG.private : FLAG.deprecated,
    secret,
    origin: "mount" as const,
    definition: undefined,
  });
}

/** Data of a mount in the history, in place of a setting's definition. */
interface MountDefinition {
  /** Paths of the mount on all sites. */
  readonly paths: readonly string[];
}

/** The definition of a change of a mount, or of a secret item of one. */
export function mountDefinition(mount: SettingItem | undefined): string | null {
  if (mount === undefined) return null;
  const { path, overrides } = JSON.parse(mount.value) as {
    readonly path: string;
    readonly overrides: Readonly<Record<string, { readonly path: string }>>;
  };
  const own = Object.values(overrides).flatMap((override) => override.path || []);
  return JSON.stringify({ paths: [...new Set([path, ...own])] } satisfies MountDefinition);
}

/**
 * Paths of a mount before and after a change.
 *
 * @returns undefined: not a change of a mount. Empty: a change from before paths were stored.
 */
export function pathsOfChange({
  key,
  oldAttributes,
  newAttributes,
}: Pick<StoredChange, "key" | "oldAttributes" | "newAttributes">): readonly string[] | undefined {
  if (!key.startsWith(MOUNT_PREFIX)) return undefined;
  const paths: string[] = [];
  for (const json of [oldAttributes, newAttributes]) {
    if (json === null) continue;
    const definition = JSON.parse(json) as Partial<MountDefinition>;
    // A custom setting with this prefix, from a version without mounts.
    if (definition.paths === undefined) return undefined;
    paths.push(...definition.paths);
  }
  return paths;
}

/** Reports whether a change in the history is that of a mount. */
export function isMountChange(
  change: Pick<StoredChange, "key" | "oldAttributes" | "newAttributes">,
): boolean {
  return pathsOfChange(change) !== undefined;
}
