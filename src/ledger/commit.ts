import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { FLAG, type ItemCodec, isDescribedAs, type SettingItem } from "../settings/item.ts";
import { isMountChange, mountDefinition } from "../settings/mount-key.ts";
import { MASK } from "../settings/value.ts";
import { createTicks } from "../ticks.ts";
import type { Item, Kind } from "./kind.ts";
import type {
  RevisionCommit,
  RevisionOrigin,
  StoredChange,
  StoredRecord,
  StoredWrite,
} from "./store.ts";

/** Change of a draft: the item before and after. */
export interface ItemReplacement {
  readonly kind: Kind<Item>;
  readonly key: string;
  readonly before: SettingItem | undefined;
  readonly after: SettingItem | undefined;
  /** Mount of this item; undefined: the item is a setting. */
  readonly mount?:
    | { readonly before: SettingItem | undefined; readonly after: SettingItem | undefined }
    | undefined;
}

/** Creates a revision for the history, with the stored members of its origin only. */
export function toCommit(
  header: {
    readonly revision: number;
    readonly time: number;
    readonly origin: RevisionOrigin;
    readonly mark?: string;
  },
  changes: readonly StoredChange[],
): RevisionCommit {
  const { revision, time, origin, mark = "" } = header;
  const { actor, transport, method, requestId, peer, reason } = origin;
  const commit = { actor, transport, method, requestId, peer, reason, revision, time, changes };
  return mark === "" ? commit : { ...commit, mark };
}

/** Builds the history entry of a replaced item. */
export function toChange(
  { key, before, after, mount }: ItemReplacement,
  codec: Pick<ItemCodec, "hash">,
): StoredChange {
  const value = (item: SettingItem | undefined) =>
    item === undefined || item.secret ? null : item.value;
  const hash = (item: SettingItem | undefined) =>
    item?.secret === true ? codec.hash(item.value) : null;
  const oldAttributes = mount ? mountDefinition(mount.before) : definitionJson(before);
  return {
    key,
    oldBody: value(before),
    newBody: value(after),
    oldHash: hash(before),
    newHash: hash(after),
    oldAttributes: oldAttributes,
    // The same text if only the value has changed, which is the common case.
    newAttributes: mount
      ? mountDefinition(mount.after)
      : isSameSetting(before, after)
        ? oldAttributes
        : definitionJson(after),
  };
}

/** Definition of a custom setting without its value, as stored in the history. */
export interface CustomDefinition {
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
}

function isSameSetting(before: SettingItem | undefined, after: SettingItem | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return before.definition === after.definition && isDescribedAs(before, after);
}

function definitionJson(item: SettingItem | undefined): string | null {
  if (item === undefined || item.definition !== undefined || item.origin === "mount") return null;
  const { type, options, help, group, flag } = item;
  return JSON.stringify({ type, options, help, group, flag } satisfies CustomDefinition);
}

/** Parses the JSON of definitionJson. */
export function parseDefinition(json: string | null): CustomDefinition | undefined {
  return json === null ? undefined : (JSON.parse(json) as CustomDefinition);
}

/** Rows of several commits; a key that changes repeatedly is written once. */
export async function toWrite(
  commits: readonly {
    readonly commit: RevisionCommit;
    readonly items: readonly ItemReplacement[];
  }[],
  codec: Pick<ItemCodec, "toStored">,
  showKey: (key: string) => string,
): Promise<StoredWrite> {
  const ticks = createTicks();
  const last = new Map<string, SettingItem | undefined>();
  for (const { items } of commits) for (const { key, after } of items) last.set(key, after);
  const upserts: StoredRecord[] = [];
  const deletes: string[] = [];
  for (const [key, item] of last) {
    if (ticks.isDue()) await ticks.next();
    if (item === undefined) deletes.push(key);
    else upserts.push(codec.toStored(item));
  }
  const revisions = commits.map(({ commit }) => commit);
  return {
    revisions,
    upserts,
    deletes,
    audit: revisions.map((each) => revisionEntry(each, showKey)),
  };
}

/** Audit entry of a revision. */
function revisionEntry(commit: RevisionCommit, showKey: (key: string) => string): AuditEntry {
  const { time, revision, reason, changes } = commit;
  const keys = changes.map(({ key }) => showKey(key));
  const why = reason === "" ? {} : { reason };
  return doneEntry(commit, time, keys, { revision, keys: keys.length, ...why });
}

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
  const oldValue = change.oldHash === null ? (change.oldBody ?? undefined) : MASK;
  const newValue = change.newHash === null ? (change.newBody ?? undefined) : MASK;
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
    change.oldBody === change.newBody &&
    change.oldHash === change.newHash &&
    // The paths of a mount are part of its value; for its secret items they are not a change.
    (change.oldAttributes === change.newAttributes || isMountChange(change))
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
  for (const { key, oldBody, newBody, oldAttributes, newAttributes } of changes) {
    const known = definitionOf(key)?.flag;
    const isOpen = (value: string | null, definition: string | null): boolean => {
      const flag = known ?? parseDefinition(definition)?.flag;
      return value !== null && (flag === FLAG.public || flag === FLAG.readonly);
    };
    if (isOpen(newBody, newAttributes)) set.set(key, newBody ?? "");
    else if (isOpen(oldBody, oldAttributes)) removed.push(key);
  }
  if (set.size === 0 && removed.length === 0) return undefined;
  // Not an assignment: the key "__proto__" would be lost.
  return { set: Object.fromEntries(set), removed };
}
