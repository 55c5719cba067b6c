import type { Base } from "../../src/ledger/draft.ts";
import type { Snapshot } from "../../src/ledger/snapshot.ts";
import { FLAG, knownItem, type SettingItem } from "../../src/settings/item.ts";
import { defined } from "./parts.ts";

/** A snapshot as the base of a draft. */
export const baseOf = (snapshot: Snapshot): Base => ({
  revision: snapshot.revision,
  lastPosition: snapshot.lastPosition,
  get: (key) => snapshot.get(key),
  mount: (key) => snapshot.mounts.get(key),
  keys: () => [...snapshot.items()].map(({ key }) => key),
  mountKeys: () => [...snapshot.mounts.keys()],
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
