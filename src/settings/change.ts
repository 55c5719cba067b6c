import { parseDefinition } from "./commit.ts";
import type { SettingDefinition } from "./definition.ts";
import { FLAG } from "./item.ts";
import { isMountChange } from "./mount-key.ts";
import type { RevisionCommit, StoredChange } from "./store.ts";
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
  const oldValue = change.oldHash === null ? (change.oldValue ?? undefined) : MASK;
  const newValue = change.newHash === null ? (change.newValue ?? undefined) : MASK;
  const kind = oldValue === undefined ? "added" : newValue === undefined ? "deleted" : "changed";
  return {
    key,
    kind,
    oldValue,
    newValue,
    secret: change.oldHash !== null || change.newHash !== null,
  };
}

/** Reports whether a change has the same state before and after. */
export function isVoid(change: StoredChange): boolean {
  return (
    change.oldValue === change.newValue &&
    change.oldHash === change.newHash &&
    // The paths of a mount are part of its value; for its secret items they are not a change.
    (change.oldDefinition === change.newDefinition || isMountChange(change))
  );
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
  for (const { key, oldValue, newValue, oldDefinition, newDefinition } of changes) {
    const known = definitionOf(key)?.flag;
    const isOpen = (value: string | null, definition: string | null): boolean => {
      const flag = known ?? parseDefinition(definition)?.flag;
      return value !== null && (flag === FLAG.public || flag === FLAG.readonly);
    };
    if (isOpen(newValue, newDefinition)) set.set(key, newValue ?? "");
    else if (isOpen(oldValue, oldDefinition)) removed.push(key);
  }
  if (set.size === 0 && removed.length === 0) return undefined;
  // Not an assignment: the key "__proto__" would be lost.
  return { set: Object.fromEntries(set), removed };
}
