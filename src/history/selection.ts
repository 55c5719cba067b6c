import { Code } from "@connectrpc/connect";
import { type Grant, outsideLimits } from "../access/grant.ts";
import { invalid, notFound, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { RecordKind } from "./kind.ts";
import { hasScope, type Kinds, scopeMissing } from "./kinds.ts";

/** Maximum number of entries of a selection. */
const MAX_ENTRIES = 1_000;

/** Records that a restore may change. */
export interface Selection {
  has(kind: RecordKind, record: string): boolean;
}

const EVERYTHING: Selection = { has: () => true };

interface SelectionDeps {
  readonly kinds: Kinds;
  readonly grant: Grant;
  /** Keys of the records that have changed and that the caller may read. */
  readonly changed: ReadonlySet<string>;
  /** Returns those of some stored keys that the history has. */
  readonly knownKeys: (kind: string, keys: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** @throws INVALID_ARGUMENT for too many entries of a selection. */
export function checkCount({ length }: readonly string[]): void {
  if (length > MAX_ENTRIES)
    throw new ServiceError(
      Code.InvalidArgument,
      message("TOO_MANY_KEYS", { most: MAX_ENTRIES, count: length }),
    );
}

/**
 * Reads the entries of `only`: the plural of a kind for all of its records, `KIND:NAME` for one
 * record, or the name alone. No entry: everything.
 *
 * @throws NOT_FOUND for a name that never existed; INVALID_ARGUMENT for a name of several records;
 *   PERMISSION_DENIED outside of the caller's limits, also for unknown names.
 */
export async function readSelection(
  entries: readonly string[],
  deps: SelectionDeps,
): Promise<Selection> {
  if (entries.length === 0) return EVERYTHING;
  const whole = new Set<RecordKind>();
  const keys = new Set<string>();
  const others: Entry[] = [];
  for (const text of new Set(entries)) {
    const kind = deps.kinds.all.find(({ plural }) => plural === text);
    if (kind !== undefined) {
      whole.add(kind);
      continue;
    }
    const entry = readEntry(text, deps);
    const key = keyOf(entry, deps);
    if (key === undefined) others.push(entry);
    else keys.add(key);
  }
  await refuseUnknown(others, deps);
  return { has: (kind, record) => whole.has(kind) || keys.has(kind.keyOf(record)) };
}

/** Entry for one record. */
interface Entry {
  readonly text: string;
  readonly name: string;
  /** Kinds of which the record may be. */
  readonly kinds: readonly RecordKind[];
}

function readEntry(text: string, { kinds, grant }: SelectionDeps): Entry {
  const given = kinds.all.find(({ name }) => text.startsWith(`${name}:`));
  if (given === undefined)
    return {
      text,
      name: text,
      kinds: kinds.all.filter(({ scopes }) => hasScope(grant, scopes.read)),
    };
  if (!hasScope(grant, given.scopes.read)) throw scopeMissing(given.scopes.read);
  return { text, name: text.slice(given.name.length + 1), kinds: [given] };
}

/** Key of the record that an entry names; undefined: it neither exists nor has changed. */
function keyOf({ name, kinds }: Entry, { grant, changed }: SelectionDeps): string | undefined {
  const found = kinds.flatMap((kind) => {
    const current = kind.mayName(grant, name) ? kind.find(name, grant) : undefined;
    if (current !== undefined) return [{ kind, key: kind.keyOf(current) }];
    const key = kind.keyOf(name);
    return changed.has(key) ? [{ kind, key }] : [];
  });
  if (found.length <= 1) return found[0]?.key;
  const names = found.map(({ kind }) => `${kind.name}:${name}`).join(", ");
  throw invalid([{ field: "only", description: message("NAME_OF_SEVERAL", { name, names }) }]);
}

/** Rejects entries for records that never existed, or that the caller may not name. */
async function refuseUnknown(
  entries: readonly Entry[],
  { kinds, grant, knownKeys }: SelectionDeps,
): Promise<void> {
  if (entries.length === 0) return;
  const requested = entries.map(({ text, name, kinds: possible }) => {
    const permitted = possible.filter((kind) => kind.mayName(grant, name));
    if (permitted.length === 0) throw outsideLimits(grant);
    return { text, records: permitted.map((kind) => ({ kind, key: kind.storedKey(name) })) };
  });
  const known = new Map<RecordKind, ReadonlySet<string>>();
  for (const [kind, records] of Map.groupBy(
    requested.flatMap(({ records }) => records),
    (record) => record.kind,
  ))
    known.set(
      kind,
      await knownKeys(
        kind.kind.name,
        records.map(({ key }) => key),
      ),
    );
  const unknown = requested.find(
    ({ records }) => !records.some(({ kind, key }) => known.get(kind)?.has(key) === true),
  );
  if (unknown === undefined) return;
  const words = kinds.all.map(({ plural }) => plural).join(", ");
  throw notFound(message("NAME_NOT_IN_HISTORY", { name: unknown.text.slice(0, 255), words }));
}
