import { Code } from "@connectrpc/connect";
import { ROOT } from "../access/grant.ts";
import type { Archive } from "../archive/archive.ts";
import type { ArchiveDocument, LeftOut } from "../archive/document.ts";
import type { Imported, ImportOptions } from "../archive/import.ts";
import type { ArchiveCaller } from "../archive/part.ts";
import { checkSize, parseBackupJson } from "../archive/readable.ts";
import { createBoundedLock } from "../bounded-lock.ts";
import { errorText } from "../error-text.ts";
import { denied, failedPrecondition, ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { type CheckContent, type CheckedBackup, omissionsOf } from "./check.ts";
import { type BackupFiles, createBackupFiles, type StoredBackup } from "./files.ts";
import type { Keep } from "./keep.ts";
import { backupName } from "./name.ts";
import { type Pruned, pruneBackups } from "./prune.ts";
import { mapTargetFailures } from "./target/mapped.ts";
import type { BackupTarget } from "./target/target.ts";
import { archiveBytes } from "./text.ts";

/** Result of a backup that was stored. */
export interface Created {
  readonly backup: StoredBackup;
  readonly counts: Readonly<Record<string, number>>;
  readonly omissions: readonly LeftOut[];
  readonly revision: number;
  readonly removed: readonly StoredBackup[];
}

export interface BackupServiceDeps {
  readonly archive: Pick<Archive, "export" | "import" | "canExport">;
  /** Undefined: the service keeps no backups. */
  readonly target: BackupTarget | undefined;
  /** Passphrase of the service. Undefined: callers give one. */
  readonly passphrase: string | undefined;
  readonly keep: Keep;
  readonly check: CheckContent;
  /** Lease on the target among all processes on the database. */
  readonly lease: BackupLease;
  readonly databaseId: () => string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called after a backup was stored. */
  readonly changed?: (() => void) | undefined;
}

/** One process at a time writes to the target. */
export interface BackupLease {
  /** @returns a function that releases it; undefined: another process has it. */
  take(): Promise<(() => Promise<void>) | undefined>;
}

/** Choices of a restore. */
export interface RestoreOptions extends Omit<ImportOptions, "isRestore"> {}

/** Backups in the target of the service. */
export interface BackupService {
  /** Place of the backups without credentials; undefined: none. */
  readonly place: string | undefined;
  /** Whether the service has a passphrase. */
  readonly hasPassphrase: boolean;
  /**
   * Stores a backup of everything. It counts after it was read back and opened; older ones are removed
   * after that.
   *
   * @param passphrase empty: that of the service.
   * @throws FAILED_PRECONDITION; RESOURCE_EXHAUSTED; UNAVAILABLE when the target fails.
   */
  create(options: {
    readonly passphrase: string;
    readonly includeServerOwn: boolean;
    readonly signal: AbortSignal;
  }): Promise<Created>;
  /** Makes a backup of what the caller may export, for the caller alone. */
  download(
    grant: ArchiveCaller["grant"],
    options: {
      readonly passphrase: string;
      readonly includeServerOwn: boolean;
      readonly signal: AbortSignal;
      /** Checks the right of the caller after the seal. */
      readonly renew?: () => Promise<void>;
    },
  ): Promise<ArchiveDocument>;
  /** Newest first. @throws FAILED_PRECONDITION; UNAVAILABLE. */
  list(signal: AbortSignal): Promise<readonly StoredBackup[]>;
  /** As in archives. */
  canExport: Archive["canExport"];
  /** @throws NOT_FOUND; FAILED_PRECONDITION; UNAVAILABLE. */
  check(
    name: string,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<{ readonly backup: StoredBackup; readonly checked: CheckedBackup }>;
  /** Restores a backup of the target, or a document. */
  restore(
    source: { readonly name: string } | { readonly document: unknown },
    caller: ArchiveCaller,
    options: RestoreOptions & { readonly signal: AbortSignal },
  ): Promise<Imported & { readonly omissions: readonly LeftOut[] }>;
  prune(options: { readonly dryRun: boolean; readonly signal: AbortSignal }): Promise<Pruned>;
}

/** Maximum number of callers that wait for a check, and for a write. */
const MOST_WAITING = 4;

export function createBackupService(deps: BackupServiceDeps): BackupService {
  const { archive, keep, check, now } = deps;
  const busy = (): ServiceError => new ServiceError(Code.ResourceExhausted, message("BACKUP_BUSY"));
  /** Checks and writes hold a whole backup: one of each at a time. */
  const checks = createBoundedLock(MOST_WAITING, busy);
  const writes = createBoundedLock(MOST_WAITING, busy);

  /** Runs work that writes to the target, one at a time among all processes. */
  const exclusively = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    writes.run(
      async () => {
        const release = await deps.lease.take();
        if (release === undefined) throw busy();
        try {
          return await work();
        } finally {
          await release();
        }
      },
      { signal },
    );
  const opened = deps.target && openTarget(deps.target, deps);
  /** @throws FAILED_PRECONDITION if the service keeps no backups. */
  const stored = (): { readonly target: BackupTarget; readonly files: BackupFiles } => {
    if (opened === undefined) throw failedPrecondition(message("BACKUP_TARGET_MISSING"));
    return opened;
  };
  const passphraseOf = (given: string): string => {
    const passphrase = given === "" ? (deps.passphrase ?? "") : given;
    if (passphrase === "") throw failedPrecondition(message("BACKUP_PASSPHRASE_MISSING"));
    return passphrase;
  };
  const checkContent = (
    content: Buffer,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<CheckedBackup> => checks.run(() => check(content, passphrase, signal), { signal });

  /** Problem of a backup; empty: it can be restored. */
  const restoreProblem = async (
    content: Buffer,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<Text> => (await checkContent(content, passphrase, signal)).problem;
  const readStored = async (given: string, signal: AbortSignal): Promise<unknown> => {
    const { files } = stored();
    const { name } = await files.find(given, signal);
    return parseBackupJson((await files.read(name, signal)).toString(), signal);
  };
  const prune = (options: {
    readonly dryRun: boolean;
    readonly signal: AbortSignal;
    readonly good?: string;
  }): Promise<Pruned> =>
    pruneBackups(
      {
        ...stored(),
        keep,
        problemOf: (content, signal) => restoreProblem(content, deps.passphrase ?? "", signal),
      },
      options,
    );
  return {
    place: deps.target?.place,
    hasPassphrase: (deps.passphrase ?? "") !== "",
    create: async ({ passphrase: given, includeServerOwn, signal }) => {
      const { files } = stored();
      const passphrase = passphraseOf(given);
      return exclusively(signal, async () => {
        const document = await archive.export(ROOT, {
          secrets: { mode: "seal", passphrase },
          only: [],
          names: [],
          includeServerOwn,
          isBackup: true,
          signal,
        });
        const content = await archiveBytes(document);
        checkSize(content.length);
        const { counts, leftOut, revision, databaseId } = document;
        const time = now();
        const name = backupName({ time, databaseId });
        await files.store(name, content, {
          problemOf: (back) => restoreProblem(back, passphrase, signal),
          signal,
        });
        const backup = { name, time, size: content.length, databaseId, isOwn: true };
        deps.changed?.();
        const { removed } = await prune({ dryRun: false, signal, good: name });
        return { backup, counts, omissions: leftOut, revision, removed };
      });
    },
    download: async (grant, { passphrase, includeServerOwn, signal, renew }) => {
      // A caller who does not know the passphrase cannot restore the file.
      if (passphrase === "" && !grant.isRoot) throw denied(message("PERMANENT_TOKEN_REQUIRED"));
      return archive.export(grant, {
        secrets: { mode: "seal", passphrase: passphraseOf(passphrase) },
        only: [],
        names: [],
        includeServerOwn,
        isBackup: true,
        signal,
        renew,
      });
    },
    list: async (signal) => stored().files.list(signal),
    canExport: archive.canExport,
    check: async (name, passphrase, signal) => {
      const { files } = stored();
      const backup = await files.find(name, signal);
      const content = await files.read(name, signal);
      const checked = await checkContent(content, passphrase || (deps.passphrase ?? ""), signal);
      return { backup, checked };
    },
    restore: async (source, caller, options) => {
      const { signal } = options;
      const isStored = "name" in source;
      const document = isStored ? await readStored(source.name, signal) : source.document;
      const passphrase = options.passphrase || (isStored ? (deps.passphrase ?? "") : "");
      const imported = await archive.import(document, caller, {
        ...options,
        passphrase,
        isRestore: true,
      });
      const { leftOut } = (document ?? {}) as { readonly leftOut?: unknown };
      return { ...imported, omissions: omissionsOf(leftOut) };
    },
    prune: (options) => exclusively(options.signal, () => prune(options)),
  };
}

/** A target with its failures as UNAVAILABLE, and its backups. */
function openTarget(
  given: BackupTarget,
  deps: Pick<BackupServiceDeps, "databaseId">,
): { readonly target: BackupTarget; readonly files: BackupFiles } {
  const target = mapTargetFailures(given);
  return { target, files: createBackupFiles(target, deps) };
}

/** Text of a failure for people. */
export function problemOf(error: unknown): Text {
  if (error instanceof ServiceError) return error.text;
  return errorText(error);
}
