import { denied, invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import {
  type ArchiveDocument,
  type LeftOut,
  type SecretsMode,
  type Section,
  writeArchive,
} from "./document.ts";
import type { ArchiveCaller, ArchivePart } from "./part.ts";
import type { SharedCipher } from "./passphrase.ts";

export interface ExportDeps {
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

/** Writes the chosen parts as a document. */
export async function exportParts<Draft>(
  { revision: newestRevision, cipher, databaseId, version, now }: ExportDeps,
  chosen: readonly ArchivePart<Draft>[],
  grant: ArchiveCaller["grant"],
  options: ExportOptions,
): Promise<ArchiveDocument> {
  const { secrets, names, isBackup = false, signal, renew } = options;
  if (names.length > 0 && chosen.length !== 1)
    throw invalid([{ field: "names", description: message("NAMES_NEED_ONE_PART") }]);
  // Before the parts are read: what is committed meanwhile is newer than the document.
  const revision = newestRevision();
  const { sections, leftOut } = await readSections(chosen, grant, options);
  const document = await writeArchive(
    {
      origin: { mooring: version, databaseId: databaseId(), revision, time: now() },
      sections,
      leftOut,
      hasDigest: isBackup,
    },
    secrets,
    signal === undefined ? cipher : cipher.until(signal),
  );
  // A seal waits for others: the right may have ended meanwhile.
  await renew?.();
  return document;
}

/** @throws PERMISSION_DENIED for a part in `only` that the caller may not export. */
async function readSections<Draft>(
  chosen: readonly ArchivePart<Draft>[],
  grant: ArchiveCaller["grant"],
  { secrets, only, names, includeServerOwn, signal }: ExportOptions,
): Promise<{ readonly sections: readonly Section[]; readonly leftOut: readonly LeftOut[] }> {
  const sections: Section[] = [];
  const leftOut: LeftOut[] = [];
  const withSecrets = secrets.mode !== "omit";
  for (const part of chosen) {
    const { name, exportScope: scope, revealScope = scope } = part;
    if (scope !== undefined && !grant.has(scope)) {
      if (only.length > 0) throw denied(message("SCOPE_MISSING", { scope }));
      leftOut.push({ part: name, scope });
      continue;
    }
    // A caller who chooses the passphrase can read sealed secrets too.
    if (withSecrets && revealScope !== undefined && !grant.has(revealScope))
      throw denied(message("SCOPE_MISSING", { scope: revealScope }));
    signal?.throwIfAborted();
    const found = await part.export({ grant, names, includeServerOwn, withSecrets, signal });
    sections.push({ part: name, entries: found.entries });
    const { leftOut: left = [], failed = [] } = found;
    if (left.length > 0) leftOut.push({ part: name, names: left });
    for (const { name: entry, reason } of failed)
      leftOut.push({ part: name, names: [entry], reason });
  }
  return { sections, leftOut };
}
