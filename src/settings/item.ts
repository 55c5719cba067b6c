import type { Text } from "../messages/message.ts";
import type { SettingDefinition } from "./definition.ts";

/** Flags of a setting (docs/rest-contract.md, section 2.4). */
export const FLAG = { public: 0, private: 1, readonly: 2, deprecated: 3 } as const;

/** Setting at one revision. Frozen. */
export interface SettingItem {
  readonly key: string;
  readonly value: string;
  /** Description, also of known settings. */
  readonly help: string;
  readonly type: string;
  readonly options: string;
  readonly group: number;
  readonly flag: number;
  readonly secret: boolean;
  /** Order of custom settings among themselves; 0 for known ones. */
  readonly position: number;
  /** Revision of the value; 0: the default. */
  readonly revision: number;
  /**
   * `known`: defined by this or an earlier version of the program. `custom`: created by a client.
   */
  readonly origin: "known" | "custom";
  /** The program's definition; undefined for custom and deprecated settings. */
  readonly definition: SettingDefinition | undefined;
}

/** A setting without its value. */
export type SettingDescription = Pick<SettingItem, "type" | "options" | "help" | "group" | "flag">;

/** Reports whether two settings are equal except for their values. */
export function isDescribedAs(a: SettingDescription, b: SettingDescription): boolean {
  return (
    a.type === b.type &&
    a.options === b.options &&
    a.help === b.help &&
    a.group === b.group &&
    a.flag === b.flag
  );
}

/** A known setting with a value, or with its default. */
export function knownItem(
  definition: SettingDefinition,
  value: string = definition.default,
  revision = 0,
): SettingItem {
  return Object.freeze({
    key: definition.key,
    value,
    help: definition.description,
    type: definition.type,
    options: definition.options,
    group: definition.group,
    flag: definition.flag,
    secret: definition.secret,
    position: 0,
    revision,
    origin: "known",
    definition,
  });
}

/**
 * Reports whether an earlier version of the program defined the setting: clients can change its
 * value only.
 */
export function isRetired({ origin, definition }: SettingItem): boolean {
  return origin === "known" && definition === undefined;
}

/** Reports whether the setting can be read without a token (docs/rest-contract.md, section 2.5). */
export function isPublic(item: SettingItem): boolean {
  return item.flag === FLAG.public || item.flag === FLAG.readonly;
}

/** Setting that a change left unchanged. */
export interface Skipped {
  readonly key: string;
  /** Reason, for display. */
  readonly reason: Text;
  /** The newer value of another caller stays; the sent one is what the client had read. */
  readonly isOutdated?: boolean;
}
