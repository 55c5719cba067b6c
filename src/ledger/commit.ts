import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import { createTicks, mapInTicks } from "../ticks.ts";
import type { Codec } from "./codec.ts";
import type { Item, Kind } from "./kind.ts";
import type {
  PartTexts,
  RevisionCommit,
  RevisionOrigin,
  StoredChange,
  StoredRecord,
  StoredWrite,
} from "./store.ts";

/** Change of a draft: the item before and after. */
export interface Replacement<I extends Item = Item> {
  readonly kind: Kind<I>;
  readonly key: string;
  readonly before: I | undefined;
  readonly after: I | undefined;
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
  { kind, key, before, after }: Replacement,
  { rules, hashes }: Pick<Codec, "rules" | "hashes">,
): StoredChange {
  const { encode, historyAttributes } = rules(kind.name);
  const [old, next] = [before && encode(before), after && encode(after)];
  return {
    kind: kind.name,
    key,
    oldBody: old?.body ?? null,
    newBody: next?.body ?? null,
    oldAttributes: before === undefined ? null : historyAttributes(before),
    newAttributes: after === undefined ? null : historyAttributes(after),
    oldHashes: old === undefined ? null : hashes(old.secrets),
    newHashes: next === undefined ? null : hashes(next.secrets),
  };
}

/** Rows of several commits; a record that changes repeatedly is written once. */
export async function toWrite(
  commits: readonly {
    readonly commit: RevisionCommit;
    readonly items: readonly Replacement[];
  }[],
  codec: Pick<Codec, "toStored" | "rules">,
): Promise<StoredWrite> {
  const ticks = createTicks();
  const last = new Map<string, Replacement>();
  for (const { items } of commits)
    for (const item of items) last.set(`${item.kind.name} ${item.key}`, item);
  const upserts: StoredRecord[] = [];
  const deletes: StoredWrite["deletes"][number][] = [];
  for (const { kind, key, after } of last.values()) {
    if (ticks.isDue()) await ticks.next();
    if (after === undefined) deletes.push({ kind: kind.name, key });
    else upserts.push(codec.toStored(kind.name, after));
  }
  const revisions = commits.map(({ commit }) => commit);
  const audit: AuditEntry[] = [];
  for (const each of revisions) audit.push(await revisionEntry(each, codec));
  return { revisions, upserts, deletes, audit };
}

/** Audit entry of a revision. */
async function revisionEntry(
  commit: RevisionCommit,
  { rules }: Pick<Codec, "rules">,
): Promise<AuditEntry> {
  const { time, revision, reason, changes } = commit;
  const subjects = await mapInTicks(changes, (change) => rules(change.kind).subjectsOf(change));
  const names = subjects.flat();
  const why = reason === "" ? {} : { reason };
  return doneEntry(commit, time, names, { revision, keys: names.length, ...why });
}

/** Names of the secret parts whose hashes differ before and after a change. */
export function changedSecrets({ oldHashes, newHashes }: StoredChange): readonly string[] {
  const [before, after] = [oldHashes ?? {}, newHashes ?? {}];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => hashOf(before, name) !== hashOf(after, name));
}

function hashOf(parts: PartTexts, name: string): string | undefined {
  return Object.hasOwn(parts, name) ? parts[name] : undefined;
}

/** Reports whether a change has the same state before and after. */
export function isVoid(change: StoredChange): boolean {
  return (
    change.oldBody === change.newBody &&
    change.oldAttributes === change.newAttributes &&
    changedSecrets(change).length === 0
  );
}
