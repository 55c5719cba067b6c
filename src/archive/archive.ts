import { Code } from "@connectrpc/connect";
import { outsideLimits } from "../access/grant.ts";
import {
  denied,
  invalid,
  LocalizableError,
  rejectViolations,
  ServiceError,
} from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { createTicks } from "../ticks.ts";
import { createRefusals, refuseUnknown, withoutSecretMembers } from "./declared.ts";
import {
  type ArchiveDocument,
  type LeftOut,
  type SecretsMode,
  type Section,
  writeArchive,
} from "./document.ts";
import { secretMembersOf } from "./identifier.ts";
import type {
  ArchiveCaller,
  ArchivePart,
  EntryResult,
  GivenEntries,
  ImportChoices,
  ImportContext,
} from "./part.ts";
import type { SharedCipher } from "./passphrase.ts";
import { unreadable } from "./readable.ts";
import { readSource } from "./source.ts";
import { createTurns } from "./turn.ts";

export interface ArchiveDeps<Draft> {
  /** In the order of their imports: parts that others refer to first. */
  readonly parts: readonly ArchivePart<Draft>[];
  /** Applies a change to the ledger, as one revision. */
  readonly change: <T>(
    caller: ArchiveCaller,
    decide: (draft: Draft) => Promise<T>,
    options: { readonly dryRun: boolean },
  ) => Promise<{ readonly result: T; readonly revision: number }>;
  /** The newest revision of the ledger. */
  readonly revision: () => number;
  readonly cipher: SharedCipher;
  readonly databaseId: () => string;
  /** The program's version. */
  readonly version: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

export interface ExportOptions {
  readonly secrets: SecretsMode;
  /** Names of the parts. Empty: all that the caller may export. */
  readonly only: readonly string[];
  /** Names of entries of the only part. Empty: all. */
  readonly names: readonly string[];
  /** Whether values that belong to one server are included, such as its permanent token. */
  readonly includeServerOwn: boolean;
  /** Whether it is a backup: it also has what servers have, and a digest of its entries. */
  readonly isBackup?: boolean;
  /** Cancels a seal that waits. */
  readonly signal?: AbortSignal | undefined;
  /** Checks the right of the caller after the seal. Default: it lasts. @throws UNAUTHENTICATED. */
  readonly renew?: (() => Promise<void>) | undefined;
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

/** Result for an entry of a part. */
export interface PartResult extends EntryResult {
  readonly part: string;
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

/** Archives of everything that its parts have. */
export interface Archive {
  /** Reports whether a caller may export a part, and so may learn the names of its entries. */
  canExport(grant: ArchiveCaller["grant"], part: string): boolean;
  /** Names of the parts, without those that call servers. */
  readonly parts: readonly string[];
  /**
   * Writes the entries that the caller may read. Parts that the caller may not export are named in the
   * document.
   *
   * @throws INVALID_ARGUMENT; PERMISSION_DENIED for a part that is named in `only`; RESOURCE_EXHAUSTED
   *   when too many others are sealed.
   */
  export(grant: ArchiveCaller["grant"], options: ExportOptions): Promise<ArchiveDocument>;
  /**
   * Imports an archive, a backup or list of an AList or OpenList server. Everything in the ledger is one
   * revision. Other parts are written before and after it, entry by entry; they are planned first, so
   * that an invalid source changes nothing. The same import again completes one that has failed.
   *
   * @param value parsed JSON. @returns the results; with `dryRun` the expected ones.
   * @throws INVALID_ARGUMENT when the source cannot be read or has invalid values; PERMISSION_DENIED
   *   for a part that is named in `only`.
   */
  import(value: unknown, caller: ArchiveCaller, options: ImportOptions): Promise<Imported>;
}

/** Maximum number of waiting imports. */
const MOST_WAITING = 8;

/** Part of an import with its entries. */
interface Planned<Draft> {
  readonly part: ArchivePart<Draft>;
  readonly given: GivenEntries;
}

export function createArchive<Draft>(deps: ArchiveDeps<Draft>): Archive {
  const { parts, cipher } = deps;
  /** One import at a time: each holds a whole site. */
  const turns = createTurns(
    MOST_WAITING,
    () => new ServiceError(Code.ResourceExhausted, message("IMPORTS_BUSY")),
  );
  const chosenParts = (
    only: readonly string[],
    withServers: boolean,
  ): readonly ArchivePart<Draft>[] => {
    const names = parts.map(({ name }) => name);
    for (const name of only)
      if (!names.includes(name))
        throw invalid([
          {
            field: "only",
            description: message("ARCHIVE_PART_UNKNOWN", {
              name: `"${name.slice(0, 64)}"`,
              hint: didYouMean(name, names),
            }),
          },
        ]);
    return only.length === 0
      ? parts.filter(({ isOfServers = false }) => withServers || !isOfServers)
      : parts.filter(({ name }) => only.includes(name));
  };
  return {
    canExport: (grant, name) => {
      const part = parts.find((each) => each.name === name);
      if (part === undefined) return grant.isRoot;
      return part.exportScope === undefined || grant.has(part.exportScope);
    },
    parts: parts.flatMap(({ name, isOfServers = false }) => (isOfServers ? [] : [name])),
    export: async (grant, options) => {
      const { secrets, only, names, includeServerOwn, isBackup = false, signal, renew } = options;
      const chosen = chosenParts(only, isBackup);
      if (names.length > 0 && chosen.length !== 1)
        throw invalid([{ field: "names", description: message("NAMES_NEED_ONE_PART") }]);
      const revision = deps.revision();
      const sections: Section[] = [];
      const leftOut: LeftOut[] = [];
      const withSecrets = secrets.mode !== "omit";
      for (const { name: part, exportScope: scope, ...rest } of chosen) {
        if (scope !== undefined && !grant.has(scope)) {
          if (only.length > 0) throw denied(message("SCOPE_MISSING", { scope }));
          leftOut.push({ part, scope });
          continue;
        }
        // A caller who chooses the passphrase can read sealed secrets too.
        const { revealScope = scope } = rest;
        if (withSecrets && revealScope !== undefined && !grant.has(revealScope))
          throw denied(message("SCOPE_MISSING", { scope: revealScope }));
        signal?.throwIfAborted();
        const found = await rest.export({ grant, names, includeServerOwn, withSecrets, signal });
        sections.push({ part, entries: found.entries });
        const { leftOut: left = [], failed = [] } = found;
        if (left.length > 0) leftOut.push({ part, names: left });
        for (const { name, reason } of failed) leftOut.push({ part, names: [name], reason });
      }
      const { version: mooring } = deps;
      const origin = { mooring, databaseId: deps.databaseId(), revision, time: deps.now() };
      const own = signal === undefined ? cipher : cipher.until(signal);
      const document = await writeArchive(
        { origin, sections, leftOut, hasDigest: isBackup },
        secrets,
        own,
      );
      // A seal waits for others: the right may have ended meanwhile.
      await renew?.();
      return document;
    },
    import: async (value, caller, importOptions) => {
      const { passphrase, only, dryRun, isRestore = false, signal, ...choices } = importOptions;
      const { renew = async () => undefined } = caller;
      const end = await turns.take(0, signal);
      try {
        await renew();
        const chosen = chosenParts(only, isRestore);
        const refusals = new Map(chosen.map((part) => [part.name, refusalOf(part, caller)]));
        /** Number of entries of parts of the source that are not chosen. */
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
        const own = signal === undefined ? cipher : cipher.until(signal);
        const options = { passphrase, parts, accepts, signal };
        const { given, unread, boundTo } = await readSource(value, options, own);
        const ownArchive = boundTo?.databaseId === deps.databaseId() ? boundTo : undefined;
        const isDeclared = choices.declared !== undefined;
        if (isDeclared) {
          const left = only.length > 0 ? [] : Array.from(notChosen.keys(), (name) => ({ name }));
          refuseUnknown([...unread, ...left], chosen);
        }
        // Reading thousands of entries takes as long as the import: other work runs in between.
        await createTicks(signal).next();
        await renew();
        const skipped: SkippedPart[] =
          only.length > 0
            ? []
            : unread.map(({ name: part, count }) => ({
                part,
                count,
                reason: message("OTHER_THINGS_IN_BACKUP", { count }),
              }));
        if (only.length > 0 && !only.some((name) => given.has(name)))
          throw unreadable(message("BACKUP_WITHOUT_PARTS", { parts: only.join(", ") }));
        const planned: Planned<Draft>[] = [];
        if (only.length === 0)
          for (const [part, count] of notChosen)
            skipped.push({ part, count, reason: message("PART_OF_RESTORES") });
        for (const part of chosen) {
          const entries = given.get(part.name);
          if (entries === undefined) continue;
          const { length: count } = entries.entries ?? entries.rows;
          const refusal = refusals.get(part.name);
          if (refusal === undefined)
            planned.push({ part, given: isDeclared ? declaredEntries(part, entries) : entries });
          else if (isDeclared) throw refusal;
          else if (count > 0) skipped.push({ part: part.name, count, reason: refusal.text });
        }
        const plannedSites = planned.find(({ part }) => part.name === "sites");
        refuseUnknownServers(choices.newServers, plannedSites?.given);
        const run = (isDry: boolean) =>
          runImport(deps, planned, { caller, choices, signal, renew, dryRun: isDry });
        // A transaction of the ledger is written as a whole or not at all. Others are planned first.
        const isOne = planned.every(({ part }) => part.kind === "ledger") && !isDeclared;
        const plan = dryRun || !isOne ? await run(true) : undefined;
        const done = dryRun && plan !== undefined ? plan : await run(false);
        const results = done.results.map((result) => withAge(result, ownArchive));
        if (!dryRun) return { ...done, results, skipped };
        const leftAlone = isDeclared ? await leftAloneBy(chosen, given, caller) : [];
        return { ...done, results, skipped, leftAlone };
      } finally {
        end();
      }
    },
  };
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

/**
 * Imports parts in their order; consecutive parts of the ledger in one change.
 *
 * @throws the error of a part; after something was written, with the names of what is complete.
 */
async function runImport<Draft>(
  { change, revision: current }: Pick<ArchiveDeps<Draft>, "change" | "revision">,
  planned: readonly Planned<Draft>[],
  { renew, ...run }: ImportContext & { readonly renew: () => Promise<void> },
): Promise<Omit<Imported, "skipped">> {
  const { caller, dryRun, signal } = run;
  const problems = createRefusals();
  const collect: typeof problems.collect =
    run.choices.declared === undefined ? (_part, _given, work) => work() : problems.collect;
  const results: PartResult[] = [];
  const progress: Progress = { done: [], running: [], stored: new Map() };
  /** Whether the import has replaced the token of its caller, who is root. */
  let endsCaller = false;
  let revision = current();
  const context: ImportContext = {
    ...run,
    onStored: (name) => {
      for (const part of progress.running)
        progress.stored.set(part, (progress.stored.get(part) ?? new Set()).add(name));
    },
  };
  const begin = async (names: readonly string[]): Promise<void> => {
    progress.running = names;
    progress.stored.clear();
    signal?.throwIfAborted();
    if (!endsCaller) await renew();
  };
  const add = ({ part: { name } }: Planned<Draft>, found: readonly EntryResult[]): void => {
    results.push(...found.map((result) => ({ ...result, part: name })));
  };
  try {
    for (const step of stepsOf(planned)) {
      await begin(step.names);
      if (step.kind === "store") {
        const { part, planned: each } = step;
        add(each, await collect(part, each.given, () => part.write(each.given, context)));
      } else {
        const changed = await change(
          caller,
          async (draft) => {
            const found: [Planned<Draft>, readonly EntryResult[]][] = [];
            for (const { part, planned: each } of step.parts)
              found.push([
                each,
                await collect(part, each.given, () => part.decide(draft, each.given, context)),
              ]);
            // Nothing is committed. A dry run collects also what the other parts refuse.
            if (!dryRun) problems.refuse();
            return found;
          },
          { dryRun },
        );
        revision = changed.revision;
        for (const [each, found] of changed.result) add(each, found);
        endsCaller ||= results.some((result) => result.endsCaller === true);
      }
      progress.done.push(...step.names);
    }
    problems.refuse();
    if (!dryRun)
      for (const { part, given } of planned)
        if (part.kind === "store" && part.complete !== undefined) {
          await begin([part.name]);
          await part.complete(given, context);
        }
    return { revision, results };
  } catch (error) {
    const isKnown = error instanceof ServiceError || error instanceof LocalizableError;
    throw dryRun || !isKnown ? error : incomplete(planned, progress, error);
  }
}

/** Maximum number of entries that an error names. */
const MAX_NAMED = 20;

/** Progress of an import. */
interface Progress {
  /** Names of the parts that were written. */
  readonly done: string[];
  /** Parts of the present step. */
  running: readonly string[];
  /** Entries that this step has stored by themselves, by the names of their parts. */
  readonly stored: Map<string, Set<string>>;
}

/**
 * Error of an import that has stored something: what, and what the same import still has to store.
 *
 * @returns the error itself if nothing is stored.
 */
function incomplete<Draft>(
  planned: readonly Planned<Draft>[],
  { done, running, stored }: Progress,
  error: ServiceError | LocalizableError,
): ServiceError | LocalizableError {
  const left = planned.map(({ part }) => part.name).filter((name) => !done.includes(name));
  /** Name of a part, with its stored entries if it is not complete. */
  const named = (name: string): string => {
    const entries = running.includes(name) ? [...(stored.get(name) ?? [])] : [];
    if (entries.length === 0) return name;
    const more = entries.length > MAX_NAMED ? ", …" : "";
    return `${name} (${entries.slice(0, MAX_NAMED).join(", ")}${more})`;
  };
  const begun = running.filter((name) => !done.includes(name) && stored.has(name));
  const written = [...done, ...begun].map(named);
  if (written.length === 0) return error;
  return new ServiceError(
    error.code,
    message("IMPORT_INCOMPLETE", {
      done: written.join(", "),
      left: left.length === 0 ? done.join(", ") : left.join(", "),
      problem: error.text,
    }),
    { violations: error.violations, cause: error },
  );
}

type Step<Draft> =
  | {
      readonly kind: "store";
      readonly names: readonly string[];
      readonly part: Extract<ArchivePart<Draft>, { kind: "store" }>;
      readonly planned: Planned<Draft>;
    }
  | {
      readonly kind: "ledger";
      readonly names: string[];
      readonly parts: {
        readonly part: Extract<ArchivePart<Draft>, { kind: "ledger" }>;
        readonly planned: Planned<Draft>;
      }[];
    };

function stepsOf<Draft>(planned: readonly Planned<Draft>[]): Step<Draft>[] {
  const steps: Step<Draft>[] = [];
  for (const each of planned) {
    const { part } = each;
    const last = steps.at(-1);
    if (part.kind === "store")
      steps.push({ kind: "store", names: [part.name], part, planned: each });
    else if (last?.kind === "ledger") {
      last.names.push(part.name);
      last.parts.push({ part, planned: each });
    } else steps.push({ kind: "ledger", names: [part.name], parts: [{ part, planned: each }] });
  }
  return steps;
}
