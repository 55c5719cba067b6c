import { outsideLimits } from "../access/grant.ts";
import { denied, rejectViolations, type ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { createTicks } from "../ticks.ts";
import { refuseUnknown, withoutSecretMembers } from "./declared.ts";
import { secretMembersOf } from "./identifier.ts";
import { type ImportRunDeps, type Planned, runImport } from "./import-run.ts";
import type {
  ArchiveCaller,
  ArchivePart,
  GivenEntries,
  ImportChoices,
  PartResult,
} from "./part.ts";
import type { SharedCipher } from "./passphrase.ts";
import { unreadable } from "./readable.ts";
import { readSource, type Source } from "./source.ts";

export interface ImportDeps<Draft> extends ImportRunDeps<Draft> {
  readonly parts: readonly ArchivePart<Draft>[];
  readonly cipher: SharedCipher;
  readonly databaseId: () => string;
}

export interface ImportOptions extends ImportChoices {
  /** Passphrase of the archive, or password of the backup; empty: none. */
  readonly passphrase: string;
  /** Names of the parts. Empty: all that the source has. */
  readonly only: readonly string[];
  readonly dryRun: boolean;
  /** Whether it is a restore: servers get back what this service does not manage. */
  readonly isRestore?: boolean;
  /** Cancels an import that waits. */
  readonly signal?: AbortSignal | undefined;
}

/** Part of a source that was not imported. */
export interface SkippedPart {
  readonly part: string;
  readonly count: number;
  readonly reason: Text;
}

export interface Imported {
  /** Revision afterwards; the present one for a dry run. */
  readonly revision: number;
  readonly results: readonly PartResult[];
  readonly skipped: readonly SkippedPart[];
  /** For a dry run of a declared document. */
  readonly leftAlone?: readonly LeftAlone[];
}

/** Entries of a part that a declared document does not name: they stay as they are. */
export interface LeftAlone {
  readonly part: string;
  readonly names: readonly string[];
}

/** An import whose parts are known to exist. */
interface ChosenImport<Draft> {
  /** Parsed JSON. */
  readonly value: unknown;
  readonly chosen: readonly ArchivePart<Draft>[];
  readonly caller: ArchiveCaller;
  readonly options: ImportOptions;
}

/** Imports the chosen parts of a source: reads it, plans it, and then writes it. */
export async function importParts<Draft>(
  deps: ImportDeps<Draft>,
  { value, chosen, caller, options }: ChosenImport<Draft>,
): Promise<Imported> {
  const { dryRun, signal, declared, newServers } = options;
  const { renew = async () => undefined } = caller;
  const refusals = new Map(chosen.map((part) => [part.name, refusalOf(part, caller)]));
  const source = await readChosen(deps, value, chosen, refusals, options);
  // Reading thousands of entries takes as long as the import: other work runs in between.
  await createTicks(signal).next();
  await renew();
  const { planned, skipped } = planParts(source, chosen, refusals, options);
  refuseUnknownServers(newServers, planned.find(({ part }) => part.name === "sites")?.given);
  const run = (isDry: boolean) =>
    runImport(deps, planned, { caller, choices: options, signal, renew, dryRun: isDry });
  // A transaction of the ledger is written as a whole or not at all. Others are planned first.
  const isOne = planned.every(({ part }) => part.kind === "ledger") && declared === undefined;
  // The results of a plan are as large as the import itself: they are not kept while it is written.
  if (!dryRun && !isOne) await run(true);
  const done = await run(dryRun);
  const ownArchive = source.boundTo?.databaseId === deps.databaseId() ? source.boundTo : undefined;
  const results = done.results.map((result) => withAge(result, ownArchive));
  if (!dryRun) return { ...done, results, skipped };
  const leftAlone = declared === undefined ? [] : await leftAloneBy(chosen, source.given, caller);
  return { ...done, results, skipped, leftAlone };
}

/** A source, of which only the chosen parts were read. */
interface ChosenSource extends Source {
  /** Number of entries of parts of the source that are not chosen. */
  readonly notChosen: ReadonlyMap<string, number>;
}

/** Reasons for which the caller may not import a part, by its name. */
type Refusals = ReadonlyMap<string, ServiceError | undefined>;

/**
 * Reads the chosen parts of a source.
 *
 * @throws INVALID_ARGUMENT; PERMISSION_DENIED for a part in `only`.
 */
async function readChosen<Draft>(
  { cipher, parts }: ImportDeps<Draft>,
  value: unknown,
  chosen: readonly ArchivePart<Draft>[],
  refusals: Refusals,
  { passphrase, only, declared, signal }: ImportOptions,
): Promise<ChosenSource> {
  const notChosen = new Map<string, number>();
  /** Checked before secrets are decrypted. */
  const accepts = (name: string, count: number): boolean => {
    const part = chosen.find((each) => each.name === name);
    if (part === undefined) {
      if (count > 0) notChosen.set(name, count);
      return false;
    }
    if (count > part.most)
      throw unreadable(message("BACKUP_TOO_MANY", { part: name, count, most: part.most }));
    const refusal = refusals.get(name);
    if (refusal !== undefined && only.length > 0) throw refusal;
    return refusal === undefined;
  };
  const source = await readSource(
    value,
    { passphrase, parts, accepts, signal },
    signal === undefined ? cipher : cipher.until(signal),
  );
  if (declared !== undefined) {
    const left = only.length > 0 ? [] : Array.from(notChosen.keys(), (name) => ({ name }));
    refuseUnknown([...source.unread, ...left], chosen);
  }
  return { ...source, notChosen };
}

/**
 * Plans the import of a source: its parts in their order, and what is skipped.
 *
 * @throws INVALID_ARGUMENT when it has no part of `only`; PERMISSION_DENIED for a declared part.
 */
function planParts<Draft>(
  { given, unread, notChosen }: ChosenSource,
  chosen: readonly ArchivePart<Draft>[],
  refusals: Refusals,
  { only, declared }: ImportOptions,
): { readonly planned: readonly Planned<Draft>[]; readonly skipped: readonly SkippedPart[] } {
  if (only.length > 0 && !only.some((name) => given.has(name)))
    throw unreadable(message("BACKUP_WITHOUT_PARTS", { parts: only.join(", ") }));
  const planned: Planned<Draft>[] = [];
  const skipped: SkippedPart[] = [];
  if (only.length === 0) {
    for (const { name, count } of unread)
      skipped.push({ part: name, count, reason: message("OTHER_THINGS_IN_BACKUP", { count }) });
    for (const [part, count] of notChosen)
      skipped.push({ part, count, reason: message("PART_OF_RESTORES") });
  }
  for (const part of chosen) {
    const entries = given.get(part.name);
    if (entries === undefined) continue;
    const { length: count } = entries.entries ?? entries.rows;
    const refusal = refusals.get(part.name);
    if (refusal === undefined)
      planned.push({
        part,
        given: declared === undefined ? entries : declaredEntries(part, entries),
      });
    else if (declared !== undefined) throw refusal;
    else if (count > 0) skipped.push({ part: part.name, count, reason: refusal.text });
  }
  return { planned, skipped };
}

/** @throws INVALID_ARGUMENT for a new server of a site that the source does not have. */
function refuseUnknownServers(
  servers: ImportChoices["newServers"] = new Map(),
  sites: GivenEntries | undefined,
): void {
  const names = (sites?.entries ?? []).map(({ name }) => name);
  rejectViolations(
    [...servers.keys()]
      .filter((name) => !names.includes(name))
      .map((name) => ({
        field: "new_servers",
        description: message("SITE_NOT_IN_BACKUP", {
          name: `"${name.slice(0, 64)}"`,
          hint: didYouMean(name, names),
        }),
      })),
  );
}

/**
 * Marks the result of an entry as newer (`isNewer`) if the stored entry differs from an archive of this
 * database: the archive has the values of its time, so that another value was stored later.
 *
 * @param own archive of this database; undefined: another source. `isWhole`: no entry of it can be edited.
 */
function withAge(result: PartResult, own: { readonly isWhole: boolean } | undefined): PartResult {
  const { differs, kept, replacedSecrets } = result;
  const differences = own?.isWhole === true ? [...differs, ...kept] : [...kept, ...replacedSecrets];
  return own === undefined || differences.length === 0 ? result : { ...result, isNewer: true };
}

function declaredEntries(part: { readonly name: string }, given: GivenEntries): GivenEntries {
  if (given.entries === undefined) return given;
  return { entries: withoutSecretMembers(given.entries, secretMembersOf(part.name)) };
}

/** Entries that the caller may read and that a declared document does not name. */
async function leftAloneBy<Draft>(
  parts: readonly ArchivePart<Draft>[],
  given: ReadonlyMap<string, GivenEntries>,
  { grant }: ArchiveCaller,
): Promise<readonly LeftAlone[]> {
  const left: LeftAlone[] = [];
  if (!grant.has("backup:export")) return left;
  for (const part of parts) {
    if (part.exportScope !== undefined && !grant.has(part.exportScope)) continue;
    const { entries = [] } = given.get(part.name) ?? {};
    const named = new Set(entries.map(({ name }) => name));
    const all = { grant, names: [], includeServerOwn: false, withSecrets: false };
    const { entries: here } = await part.export(all);
    const names = here
      .filter((entry) => !named.has(entry.name) && part.isDefault?.(entry) !== true)
      .map(({ name }) => name);
    if (names.length > 0) left.push({ part: part.name, names });
  }
  return left;
}

/** Reason for which the caller may not import a part. */
function refusalOf<Draft>(
  { importScopes = [], importNeedsRoot = false, refusesLimits = false }: ArchivePart<Draft>,
  { grant }: ArchiveCaller,
): ServiceError | undefined {
  if (importNeedsRoot && !grant.isRoot) return denied(message("PERMANENT_TOKEN_REQUIRED"));
  const scope = importScopes.find((each) => !grant.has(each));
  if (scope !== undefined) return denied(message("SCOPE_MISSING", { scope }));
  return refusesLimits && grant.limits.length > 0 ? outsideLimits(grant) : undefined;
}
