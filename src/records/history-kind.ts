import type { Grant } from "../access/grant.ts";
import type { Effect } from "../history/effect.ts";
import type { RecordKind } from "../history/kind.ts";
import { isChangeOnSite } from "../sites/site-choice.ts";
import { type RecordChange, withEffects } from "./effect.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { allowsChange } from "./stored-change.ts";
import { subjectOf } from "./subject.ts";

export interface HistoryDeps<R extends SiteRecord>
  extends Pick<RecordKind, "describe" | "restore"> {
  readonly all: () => ReadonlyMap<string, R>;
  /** Key of the record that a request names; other text is not changed. */
  readonly keyNamed: (text: string, grant: Grant) => string;
  /** Key of a record that may be deleted. */
  readonly storedKey: (text: string) => string;
  /** Effects of changes on the servers that are written to now. */
  readonly effects: () => (change: RecordChange<R>) => readonly Effect[];
}

/** Records of sites as a kind of records in the history. */
export function historyKind<R extends SiteRecord>(
  kind: SiteKind<R>,
  { all, keyNamed, storedKey, describe, effects, restore }: HistoryDeps<R>,
): RecordKind {
  const { noun, plural } = kind;
  return {
    name: noun,
    plural,
    kind: kind.token,
    scopes: { read: `${plural}:read`, restore: `${plural}:write` },
    keyOf: (key) => subjectOf(kind, key),
    find: (text, grant) => {
      const key = keyNamed(text, grant);
      return all().has(key) ? key : undefined;
    },
    mayName: (grant, text) => {
      if (grant.limits.length === 0) return true;
      const record = all().get(keyNamed(text, grant));
      return record !== undefined && kind.isAllowed(grant, record);
    },
    storedKey,
    allows: (grant, change) => allowsChange(kind, grant, change),
    isOnSite: isChangeOnSite,
    hides: (grant, { oldHashes, newHashes }) =>
      (oldHashes !== null || newHashes !== null) && !grant.has(`${plural}:reveal`),
    describe,
    restore: (draft, changes, grant) =>
      withEffects(kind, effects(), () => restore(draft, changes, grant))(draft),
  };
}
