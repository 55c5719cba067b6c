import { ROOT } from "../access/grant.ts";
import type { Archive } from "../archive/archive.ts";
import { isArchive, type LeftOut } from "../archive/document.ts";
import type { PartResult } from "../archive/part.ts";
import { parseBackupJson, unreadable } from "../archive/readable.ts";
import { isObject } from "../is-object.ts";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";

/** Result of the check of a backup. */
export interface CheckedBackup {
  /** Reason for which it cannot be restored. Empty: it is good. */
  readonly problem: Text;
  /** Number of entries of each part. */
  readonly counts: Readonly<Record<string, number>>;
  readonly omissions: readonly LeftOut[];
  /** Entries that a restore would not bring back as they were. */
  readonly losses: readonly PartResult[];
  readonly revision: number;
  /** Version of the program that wrote it. */
  readonly version: string;
  readonly databaseId: string;
  /** Time of writing, ISO 8601 in UTC. */
  readonly created: string;
}

/** Checks the content of a file, outside of the event loop of the service. */
export type CheckContent = (
  content: Buffer,
  passphrase: string,
  signal: AbortSignal,
) => Promise<CheckedBackup>;

/** Caller of a check, which changes nothing. */
const CHECK = {
  grant: ROOT,
  origin: { actor: "check", transport: "", method: "check", requestId: "", peer: "", reason: "" },
};

/** Choices of a check: everything of a backup is restored. */
const CHOICES = {
  only: [],
  dryRun: true,
  isRestore: true,
  skipInvalid: false,
  replaceSecrets: false,
  includeServerOwn: true,
  allowShared: true,
  siteNames: new Map(),
  sites: undefined,
  pauseSites: false,
} as const;

/**
 * Opens a backup as a restore into an empty service would: its text is parsed, its secrets are opened,
 * every entry is planned, and the results are counted.
 *
 * @param empty archive of an empty ledger.
 */
export async function checkContent(
  content: Uint8Array,
  passphrase: string,
  empty: Pick<Archive, "import">,
): Promise<CheckedBackup> {
  let header: Header = {};
  try {
    const value = await parseBackupJson(new TextDecoder("utf-8", { fatal: true }).decode(content));
    if (!isArchive(value)) throw unreadable(message("BACKUP_NOT_ARCHIVE"));
    header = value;
    if (value["sealed"] !== undefined && passphrase === "")
      throw unreadable(message("BACKUP_PASSPHRASE_MISSING"));
    const { results } = await empty.import(value, CHECK, { ...CHOICES, passphrase });
    for (const [part, count] of Object.entries(header.counts ?? {})) {
      const found = results.filter((result) => result.part === part).length;
      if (found !== count)
        throw unreadable(
          message("BACKUP_COUNTS_DIFFER", { part: part.slice(0, 64), found, count }),
        );
    }
    return resultOf(header, { problem: "", losses: results.filter(({ isLoss }) => isLoss) });
  } catch (error) {
    if (error instanceof TypeError && header.counts === undefined)
      return resultOf(header, { problem: message("BACKUP_NOT_ARCHIVE"), losses: [] });
    if (!(error instanceof ServiceError)) throw error;
    return resultOf(header, { problem: error.text, losses: [] });
  }
}

/** Members of a document that a result repeats. */
interface Header {
  readonly counts?: Readonly<Record<string, number>>;
  readonly leftOut?: readonly LeftOut[];
  readonly revision?: number;
  readonly mooring?: string;
  readonly databaseId?: string;
  readonly created?: string;
}

function resultOf(
  { counts, leftOut, revision, mooring, databaseId, created }: Header,
  rest: Pick<CheckedBackup, "problem" | "losses">,
): CheckedBackup {
  return {
    ...rest,
    counts: isObject(counts) ? (counts as CheckedBackup["counts"]) : {},
    omissions: omissionsOf(leftOut),
    revision: Number.isSafeInteger(revision) ? Number(revision) : 0,
    version: String(mooring ?? ""),
    databaseId: String(databaseId ?? ""),
    created: String(created ?? ""),
  };
}

/** What the document says that it does not have, as far as it has the form of {@link LeftOut}. */
export function omissionsOf(given: unknown): readonly LeftOut[] {
  if (!Array.isArray(given)) return [];
  return given.filter(
    (each): each is LeftOut =>
      isObject(each) &&
      typeof each["part"] === "string" &&
      (each["names"] === undefined || isTexts(each["names"])) &&
      ["scope", "reason"].every((name) => ["undefined", "string"].includes(typeof each[name])),
  );
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
