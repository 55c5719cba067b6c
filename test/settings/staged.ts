import type { Base } from "../../src/ledger/draft.ts";
import { createSnapshot, type Snapshot } from "../../src/ledger/snapshot.ts";
import { mountRules } from "../../src/mounts/kind.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { FLAG, knownItem, type SettingItem } from "../../src/settings/item.ts";
import { settingRules } from "../../src/settings/kind.ts";
import { defined } from "./parts.ts";

/** A snapshot of settings in list order, and of mounts. */
export const snapshotOf = (
  revision: number,
  settings: Iterable<SettingItem>,
  mounts: Iterable<Mount> = [],
  mark?: string,
): Snapshot =>
  createSnapshot(
    revision,
    [
      { rules: settingRules([]), items: settings },
      {
        rules: mountRules({ driverOf: () => undefined, sites: () => ({ nameOf: (id) => id }) }),
        items: mounts,
      },
    ],
    mark,
  );

/** A snapshot as the base of a draft. */
export const baseOf = (snapshot: Snapshot): Base => ({
  revision: snapshot.revision,
  lastPosition: (kind) => snapshot.of(kind).lastPosition,
  get: (kind, key) => snapshot.get(kind, key),
  keys: (kind) => snapshot.of(kind).keys(),
  rules: (kind) => snapshot.rules(kind),
  prefixes: () => snapshot.prefixes(),
});

/** A setting that a client has created. */
export function customItem(
  key: string,
  value: string,
  members: Partial<SettingItem> = {},
): SettingItem {
  return {
    key,
    value,
    help: "",
    type: "string",
    options: "",
    group: 0,
    flag: FLAG.private,
    secret: false,
    position: 1,
    revision: 1,
    origin: "custom",
    definition: undefined,
    ...members,
  };
}

/** A setting with a definition and a value. */
export function item(
  value: string,
  members: Parameters<typeof defined>[0],
  revision = 1,
): SettingItem {
  return knownItem(defined(members), value, revision);
}

/** A mount of all sites. */
export function sampleMount(name: string, members: Partial<Mount> = {}): Mount {
  return {
    name,
    path: `/${name}`,
    driver: "Local",
    items: {},
    members: {},
    disabled: false,
    content: "overwrite",
    siteIds: "all",
    overrides: {},
    credentialRevision: 0,
    missing: [],
    revision: 1,
    ...members,
  };
}
