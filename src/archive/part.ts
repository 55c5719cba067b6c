import type { Grant } from "../access/grant.ts";
import type { AuditOrigin } from "../audit/entry.ts";
import type { Effect } from "../history/effect.ts";
import { notFound } from "../messages/error.ts";
import { type Message, message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Members } from "./member.ts";
import type { OpenText } from "./page-encryption.ts";

/** Value of a secret. */
export type SecretValue = string | number | boolean;

/** Entry of a part, such as a setting: its open content, and its secrets by name. */
export interface ArchiveEntry {
  readonly name: string;
  /** Members without the name and without secrets. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, SecretValue>>;
  /** Names of secrets whose values are not known. */
  readonly missing: readonly string[];
  /** Whether missing values are sealed in the archive, and it was read without its passphrase. */
  readonly isSealed: boolean;
}

/** Caller of an export or an import. */
export interface ArchiveCaller {
  readonly grant: Grant;
  readonly origin: AuditOrigin & { readonly reason: string };
  /**
   * Checks that the right of the caller has not ended. Default: it lasts.
   *
   * @throws UNAUTHENTICATED.
   */
  readonly renew?: (() => Promise<void>) | undefined;
}

export interface ExportRequest {
  readonly grant: Grant;
  /** Names of the entries. Empty: all. */
  readonly names: readonly string[];
  /** Whether values that belong to one server are included, such as its permanent token. */
  readonly includeServerOwn: boolean;
  /** Whether values of secrets are written; otherwise they are only named. */
  readonly withSecrets: boolean;
  /** Cancels the export. */
  readonly signal?: AbortSignal | undefined;
}

export interface ExportedPart {
  /** In a stable order. */
  readonly entries: readonly ArchiveEntry[];
  /** Names of entries that are left out although the caller can read them. */
  readonly leftOut?: readonly string[];
  /** Names of entries that could not be read, with the reason. */
  readonly failed?: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Entries of an import: those of an archive, or rows of a backup or database of an AList or OpenList
 * server.
 */
export type GivenEntries =
  | { readonly entries: readonly ArchiveEntry[]; readonly rows?: undefined }
  | { readonly rows: readonly unknown[]; readonly entries?: undefined };

/** Choices of an import. The archive passes them to its parts. */
export interface ImportChoices {
  /** Skips values that break a rule instead of refusing the whole import. */
  readonly skipInvalid: boolean;
  /** Imports also values that belong to one server, such as its permanent token. */
  readonly includeServerOwn: boolean;
  /** Imports mounts whose sites share a credential that can be used once. */
  readonly allowShared: boolean;
  /** Names of sites here, by their names in the archive. */
  readonly siteNames: ReadonlyMap<string, string>;
  /** Sites of mounts whose source names none. Undefined: a choice is needed if there are several. */
  readonly sites: "all" | readonly string[] | undefined;
  /** Replaces secrets that are stored here; otherwise they stay as they are, and are named. */
  readonly replaceSecrets: boolean;
  /** Creates sites paused: nothing is written to their servers until they are resumed. */
  readonly pauseSites: boolean;
  /** Servers that take the place of lost ones, by the names of their sites in the source. Absent: none. */
  readonly newServers?: ReadonlyMap<string, NewServer>;
  /** The entries are declared by a file. Undefined: they are those of an archive or of a server. */
  readonly declared?: Declared | undefined;
}

/** Access to a server that takes the place of a lost one. */
export interface NewServer {
  readonly url: string;
  readonly token: string;
}

/**
 * Declared entries: each is applied as it stands, or nothing is. Values of secrets may stand among
 * the members.
 */
export interface Declared {
  /**
   * Name of the file that this service follows, which alone changes what it declares. Undefined: a
   * file of the caller.
   */
  readonly file: string | undefined;
}

/** Context of an import: one object, passed to all parts. */
export interface ImportContext {
  readonly caller: ArchiveCaller;
  readonly choices: ImportChoices;
  /** Changes nothing: the results are the expected ones. */
  readonly dryRun: boolean;
  /** Ends the import with its call: parts check it in each tick. */
  readonly signal?: AbortSignal | undefined;
  /** Reports an entry that is stored by itself, so that the error of a failed import names it. */
  readonly onStored?: ((name: string) => void) | undefined;
}

/** Result for one entry. */
export interface EntryResult {
  readonly name: string;
  readonly outcome: "created" | "changed" | "unchanged" | "skipped";
  /** Reason for `skipped`, or a note. Never a secret. */
  readonly note: Text;
  /** Members that differ from those before. */
  readonly differs: readonly string[];
  /** Values of the source that are not kept. */
  readonly leftOut: readonly string[];
  /** Secrets without a value, neither in the source nor here. */
  readonly missing: readonly string[];
  readonly effects: readonly Effect[];
  /** Secrets stored here that the import replaces or removes, named as in an archive. */
  readonly replacedSecrets: readonly string[];
  /** Members that stay as they are here, unless secrets are replaced. */
  readonly kept: readonly string[];
  /** Whether the entry here was changed after the source was made, as far as it is known. */
  readonly isNewer?: boolean;
  /** Whether a value of the source is missing after the import, other than by a choice of the caller. */
  readonly isLoss: boolean;
  /** Whether values were compared that the caller may not read: dry runs could be guesses. */
  readonly isGuess?: boolean;
  /** Whether the entry replaces the permanent token, which ends the right of the import's caller. */
  readonly endsCaller?: boolean;
  /** Generated password of a new user of a server. It is in the reply of the call only. */
  readonly password?: string;
}

/** Result for an entry of a part. */
export interface PartResult extends EntryResult {
  readonly part: string;
}

/** Rows of a kind in backups and replies of AList and OpenList servers. */
export interface ServerRows {
  /** Member of a backup of the web page. */
  readonly member: string;
  /** Reports whether a row of a bare list is of this kind. */
  readonly recognizes: (row: Readonly<Record<string, unknown>>) => boolean;
  /**
   * Decrypts a row of an encrypted backup. Default: every text is decrypted and read as JSON.
   *
   * @param path of the row, for messages. @throws INVALID_ARGUMENT when a value is damaged.
   */
  readonly decrypt?: (
    row: Readonly<Record<string, unknown>>,
    open: OpenText,
    path: string,
  ) => Promise<Readonly<Record<string, unknown>>>;
}

interface CommonPart {
  /** Name of the part, and member of the archive with its entries. */
  readonly name: string;
  /** Rows of AList and OpenList servers that the part reads too. */
  readonly server?: ServerRows;
  /** Scope that an export needs besides `backup:export`; undefined: none. */
  readonly exportScope?: string;
  /** Scope that values of secrets need. Default: that of the export. */
  readonly revealScope?: string;
  /**
   * Scopes that an import needs besides `backup:import`: those of the calls that store such entries.
   * Default: none.
   */
  readonly importScopes?: readonly string[];
  /** Whether only the permanent token imports it. Default: false. */
  readonly importNeedsRoot?: boolean;
  /** Whether imports by tokens with limits are refused. Default: false. */
  readonly refusesLimits?: boolean;
  /** Maximum number of entries. */
  readonly most: number;
  /** Whether it calls servers: only backups and restores have it, and calls that name it. */
  readonly isOfServers?: true;
  export(request: ExportRequest): Promise<ExportedPart>;
  /** Reports whether an exported entry has only the values of a new Mooring. Default: none has. */
  isDefault?(entry: ArchiveEntry): boolean;
}

/** Part whose records are in the ledger: the import of all such parts is one revision. */
export interface LedgerPart<Draft> extends CommonPart {
  readonly kind: "ledger";
  /** @throws ServiceError; then nothing of the import is written. */
  decide(
    draft: Draft,
    given: GivenEntries,
    context: ImportContext,
  ): Promise<readonly EntryResult[]>;
}

/** Part with records of its own. */
export interface StorePart extends CommonPart {
  readonly kind: "store";
  /**
   * Writes each entry by itself. Entries that were written before are unchanged, so that a repeated
   * import completes a failed one.
   */
  write(given: GivenEntries, context: ImportContext): Promise<readonly EntryResult[]>;
  /** Called after all parts were written, with the same arguments. */
  complete?(given: GivenEntries, context: ImportContext): Promise<void>;
}

/**
 * Part of an archive, implemented by a noun.
 *
 * @typeParam Draft state of the ledger to which an import is applied.
 */
export type ArchivePart<Draft> = LedgerPart<Draft> | StorePart;

/** Maximum length of the name of an actor. */
const MAX_ACTOR = 128;

/**
 * Member of an entry with the name of an actor, such as its creator. Only the permanent token restores
 * it: others could name someone else.
 */
export function authorOf(
  members: Pick<Members, "shortText">,
  name: string,
  { grant, origin }: ArchiveCaller,
): string {
  const author = members.shortText(name, MAX_ACTOR);
  return grant.isRoot && author !== "" ? author : origin.actor;
}

/**
 * Reports whether an import keeps the secrets that are stored here, which may be newer than its source.
 * Those of a file that declares its records are replaced: that is its purpose.
 */
export function keepsSecrets({ replaceSecrets, declared }: ImportChoices): boolean {
  return !replaceSecrets && declared === undefined;
}

/** Text about a name that no part has. */
export function unknownPart(name: string, parts: readonly string[]): Message {
  return message("ARCHIVE_PART_UNKNOWN", {
    name: `"${name.slice(0, 64)}"`,
    hint: didYouMean(name, parts),
  });
}

/** A result without details. */
export function entryResult(
  name: string,
  outcome: EntryResult["outcome"],
  more: Partial<Omit<EntryResult, "name" | "outcome">> = {},
): EntryResult {
  const { note = "", differs = [], leftOut = [], missing = [], effects = [] } = more;
  const { replacedSecrets = [], kept = [] } = more;
  const lost = leftOut.length + missing.length + kept.length;
  const isLoss = more.isLoss ?? (outcome === "skipped" || lost > 0);
  const result = {
    name,
    outcome,
    note,
    differs,
    leftOut,
    missing,
    effects,
    replacedSecrets,
    kept,
    isLoss,
  };
  return {
    ...result,
    ...(more.isGuess === true && { isGuess: true }),
    ...(more.endsCaller === true && { endsCaller: true }),
  };
}

/**
 * Entries with these names, or all if there are none.
 *
 * @throws NOT_FOUND with the nearest name.
 */
export function chosenOf<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[],
): readonly T[] {
  const byName = new Map(all.map((each) => [each.name, each]));
  if (names.length === 0) return all;
  return [...new Set(names)].map((name) => {
    const found = byName.get(name);
    if (found !== undefined) return found;
    const hint = didYouMean(name, byName.keys());
    throw notFound(message("ENTRY_NOT_FOUND", { name: `"${name.slice(0, 64)}"`, hint }));
  });
}
