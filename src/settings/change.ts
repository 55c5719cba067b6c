import type { RevisionCommit, StoredChange } from "../ledger/store.ts";
import { parseDescription } from "./attributes.ts";
import type { SettingDefinition } from "./definition.ts";
import { FLAG } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { MASK } from "./value.ts";

/** Change of one setting for display; values of secrets are masked. */
export interface Change {
  readonly key: string;
  readonly kind: "added" | "changed" | "deleted";
  /** Undefined: the setting did not exist. */
  readonly oldValue: string | undefined;
  /** Undefined: the setting was deleted. */
  readonly newValue: string | undefined;
  readonly secret: boolean;
}

/** Converts a stored change for display. */
export function describeChange(change: StoredChange): Change {
  const { key } = change;
  const oldValue = change.oldHashes === null ? (change.oldBody ?? undefined) : MASK;
  const newValue = change.newHashes === null ? (change.newBody ?? undefined) : MASK;
  const kind = oldValue === undefined ? "added" : newValue === undefined ? "deleted" : "changed";
  return {
    key,
    kind,
    oldValue,
    newValue,
    secret: change.oldHashes !== null || change.newHashes !== null,
  };
}

/** Change of the public settings by one commit. */
export interface PublicChange {
  readonly set: Readonly<Record<string, string>>;
  readonly removed: readonly string[];
}

/** @returns undefined when no public setting has changed. */
export function publicChange(
  { changes }: RevisionCommit,
  definitionOf: (key: string) => SettingDefinition | undefined,
): PublicChange | undefined {
  const set = new Map<string, string>();
  const removed: string[] = [];
  for (const change of changes) {
    if (change.kind !== SETTINGS.name) continue;
    const { key, oldBody, newBody, oldAttributes, newAttributes } = change;
    const known = definitionOf(key)?.flag;
    const isOpen = (value: string | null, attributes: string | null): boolean => {
      const flag = known ?? parseDescription(attributes)?.flag;
      return value !== null && (flag === FLAG.public || flag === FLAG.readonly);
    };
    if (isOpen(newBody, newAttributes)) set.set(key, newBody ?? "");
    else if (isOpen(oldBody, oldAttributes)) removed.push(key);
  }
  if (set.size === 0 && removed.length === 0) return undefined;
  // Not an assignment: the key "__proto__" would be lost.
  return { set: Object.fromEntries(set), removed };
}
