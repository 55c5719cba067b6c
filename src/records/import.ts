import {
  type ArchiveEntry,
  type EntryResult,
  entryResult,
  type ImportContext,
  keepsSecrets,
} from "../archive/part.ts";
import type { Effect } from "../history/effect.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { invalid } from "../messages/error.ts";
import { joinTexts, message, type Text } from "../messages/message.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks, LONGEST_OF_ARCHIVE, mapInTicks } from "../ticks.ts";
import { type RecordChange, withEffects } from "./effect.ts";
import type { RecordIndex, SiteKind, SiteRecord } from "./kind.ts";
import { type Saver, saveAll, saveEach } from "./save-each.ts";
import { type RecordSaveRules, saveRights } from "./save-rules.ts";
import { missingFields } from "./shown-secret.ts";

/** Rules of an import by a caller. */
export function importRules<R extends SiteRecord>(
  kind: SiteKind<R>,
  { caller, choices: { declared } }: Pick<ImportContext, "caller" | "choices">,
  { managedBy, ...known }: Pick<RecordSaveRules<R>, "etagOf" | "sites" | "managedBy">,
): RecordSaveRules<R> {
  return {
    ...known,
    ...saveRights(kind, caller.grant),
    managedBy: declared?.file === undefined ? managedBy : () => undefined,
    isAdopted: false,
    // What a file declares follows the rules of the form; other sources are taken as they are.
    carries: declared === undefined,
  };
}

export interface ImportSteps<R extends SiteRecord> {
  readonly effectsOf: (change: RecordChange<R>) => readonly Effect[];
  /** Saves the records of the source. @param records all records of the draft. */
  readonly save: (records: RecordIndex<R>) => Promise<readonly RecordResult[]>;
  /** Secrets of a changed record that the source replaces. */
  readonly replacedSecrets: (
    before: R,
    after: R,
    differs: readonly string[],
  ) => EntryResult["replacedSecrets"];
  readonly isGuess: (result: RecordResult) => boolean;
  readonly sites: Pick<SiteNames, "nameOf">;
}

/** Imports records into a draft. */
export async function importRecords<R extends SiteRecord>(
  kind: SiteKind<R>,
  draft: Draft,
  { effectsOf, save, replacedSecrets, isGuess, sites }: ImportSteps<R>,
): Promise<readonly EntryResult[]> {
  const { token } = kind;
  const stored = new Map(Array.from(draft.keys(token), (key) => [key, draft.get(token, key)]));
  const results = await withEffects(kind, effectsOf, (_draft, records) => save(records))(draft);
  return mapInTicks(results, (result) => {
    const { name, outcome, note, differs, leftOut = [], kept = [], effects } = result;
    const after = outcome === "skipped" ? undefined : draft.get(token, name);
    const before = stored.get(name);
    const isReplaced = before !== undefined && after !== undefined;
    return entryResult(name, outcome === "deleted" ? "changed" : outcome, {
      note,
      differs,
      leftOut,
      kept,
      effects,
      isGuess: isGuess(result),
      replacedSecrets: isReplaced ? replacedSecrets(before, after, differs) : [],
      missing: after === undefined ? [] : missingFields(kind, after, sites),
    });
  });
}

/** Input of an import. */
export interface ImportInput {
  /** Undefined: those of the record, or a choice is needed. */
  readonly sites?: unknown;
  /** Values of the source that are not taken, because stored secrets stay. */
  readonly kept?: readonly string[];
}

/** Decides which inputs of an import keep the secrets that are stored. */
export interface Keeping<R, I> {
  readonly choices: ImportContext["choices"];
  /** Input that keeps the stored secrets of a record. */
  readonly withStored: (before: R, input: I) => I;
}

/** Input that keeps the stored secrets of its record, unless the caller has chosen to replace them. */
function keeping<R, I>(before: R | undefined, input: I, { choices, withStored }: Keeping<R, I>): I {
  return before === undefined || !keepsSecrets(choices) ? input : withStored(before, input);
}

/** Input that was read from a row of a server, or the reason for which the row is skipped. */
export type ReadRow<I> = { readonly input: I } | { readonly path: string; readonly reason: Text };

/**
 * Saves rows of a server. A row that is rejected is skipped, with the reason.
 *
 * @param options.nameOf name of a skipped input. Default: its key.
 * @returns the results in the order of the rows.
 * @throws INVALID_ARGUMENT for new records without a choice of sites, if there are several.
 */
export async function saveRows<R extends SiteRecord, I extends ImportInput>(
  kind: SiteKind<R>,
  saver: Saver<R, I>,
  rows: readonly ReadRow<I>[],
  records: RecordIndex<R>,
  {
    names,
    nameOf,
    ...options
  }: Keeping<R, I> & {
    readonly names: SiteNames;
    readonly nameOf?: (input: I) => string;
  },
): Promise<readonly RecordResult[]> {
  const inputs = rows.flatMap((row) =>
    "input" in row ? [keeping(records.get(saver.keyOf(row.input)), row.input, options)] : [],
  );
  const isUnplaced = (input: I): boolean =>
    input.sites === undefined && !records.has(saver.keyOf(input));
  if (names.names.length > 1 && inputs.some(isUnplaced))
    throw invalid([{ field: "sites", description: message("SITES_REQUIRED", { field: "sites" }) }]);
  const saved = (await saveEach(kind, saver, inputs, records, nameOf)).values();
  return rows.flatMap((row) =>
    "reason" in row ? resultAs(row.path, "skipped", row.reason) : (saved.next().value ?? []),
  );
}

/** Input that was read from an entry of an archive, or the reason for which the entry is skipped. */
export type ReadEntry<I> = { readonly input: I; readonly note: Text } | { readonly reason: Text };

/** Saves the entries of an archive. An entry that is rejected is skipped, with the reason. */
export async function saveEntries<R extends SiteRecord, I extends ImportInput>(
  kind: SiteKind<R>,
  saver: Saver<R, I>,
  entries: readonly ArchiveEntry[],
  records: RecordIndex<R>,
  {
    read,
    isSame,
    signal,
    ...options
  }: Keeping<R, I> & {
    readonly read: (entry: ArchiveEntry, before: R | undefined) => ReadEntry<I>;
    /** Reports whether a record that a file declares has all values of an input. */
    readonly isSame: (input: I) => boolean;
    readonly signal: AbortSignal | undefined;
  },
): Promise<readonly RecordResult[]> {
  const ticks = createTicks(signal, LONGEST_OF_ARCHIVE);
  const inputs: I[] = [];
  const notes: Text[] = [];
  /** Results of entries that are not saved, by their place. */
  const unsaved = new Map<number, RecordResult>();
  for (const [at, entry] of entries.entries()) {
    if (ticks.isDue()) await ticks.next();
    const found = read(entry, records.get(entry.name));
    if ("reason" in found) {
      unsaved.set(at, resultAs(entry.name, "skipped", found.reason));
      continue;
    }
    const key = saver.keyOf(found.input);
    const input = keeping(records.get(key), found.input, options);
    if (isSame(input)) {
      unsaved.set(at, resultAs(key, "unchanged", "", { kept: input.kept ?? [] }));
      continue;
    }
    inputs.push(input);
    notes.push(found.note);
  }
  const results = await saveAll(kind, saver, inputs, records);
  const saved = results
    .map((result, at) => ({ ...result, note: joinTexts([result.note, notes[at] ?? ""]) }))
    .values();
  return entries.flatMap((_entry, at) => unsaved.get(at) ?? saved.next().value ?? []);
}
