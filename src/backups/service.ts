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

/** Choices of a new backup. */
export interface CreateOptions {
  /** Empty: that of the service. */
  readonly passphrase: string;
  /** Whether values that belong to one server are included, such as its permanent token. */
  readonly includeServerOwn: boolean;
  readonly signal: AbortSignal;
}

/** Maximum number of callers that wait for a check, and for a write. */
const MAX_WAITING = 4;

/** Backups in the target of the service. */
export class BackupService {
  readonly #deps: BackupServiceDeps;
  readonly #target: OpenTarget | undefined;
  /** Checks and writes hold a whole backup: one of each at a time. */
  readonly #checks = createBoundedLock(MAX_WAITING, busy);
  readonly #writes = createBoundedLock(MAX_WAITING, busy);

  constructor(deps: BackupServiceDeps) {
    this.#deps = deps;
    this.#target = deps.target && openTarget(deps.target, deps);
  }

  /** Place of the backups without credentials; undefined: none. */
  get place(): string | undefined {
    return this.#deps.target?.place;
  }

  /** Whether the service has a passphrase. */
  get hasPassphrase(): boolean {
    return this.#ownPassphrase !== "";
  }

  /** Names of entries, such as principals and sites, are shown to callers who may export them. */
  isShownTo(grant: ArchiveCaller["grant"]): (of: { readonly part: string }) => boolean {
    return ({ part }) => this.#deps.archive.canExport(grant, part);
  }

  /**
   * Stores a backup of everything. It counts after it was read back and opened; older ones are removed
   * after that.
   *
   * @throws PERMISSION_DENIED; FAILED_PRECONDITION; RESOURCE_EXHAUSTED; UNAVAILABLE when the target
   *   fails.
   */
  async create(grant: ArchiveCaller["grant"], options: CreateOptions): Promise<Created> {
    const { signal } = options;
    // A caller who knows the passphrase reads every secret in it, and the token is every right.
    if (options.passphrase !== "" || options.includeServerOwn) requireRoot(grant);
    const { files } = this.#stored();
    const passphrase = this.#passphraseOf(options.passphrase);
    return this.#exclusively(signal, async () => {
      const document = await this.#export(ROOT, options);
      const content = await archiveBytes(document);
      checkSize(content.length);
      const { counts, leftOut, revision, databaseId } = document;
      const time = this.#deps.now();
      const name = backupName({ time, databaseId });
      await files.store(name, content, {
        problemOf: (back) => this.#problemOf(back, passphrase, signal),
        signal,
      });
      const backup = { name, time, size: content.length, databaseId, isOwn: true };
      this.#deps.changed?.();
      const { removed } = await this.#prune({ dryRun: false, signal, good: name });
      return { backup, counts, omissions: leftOut, revision, removed };
    });
  }

  /**
   * Makes a backup of what the caller may export, for the caller alone.
   *
   * @param options.renew checks the right of the caller after the seal.
   */
  async download(
    grant: ArchiveCaller["grant"],
    options: CreateOptions & { readonly renew?: () => Promise<void> },
  ): Promise<ArchiveDocument> {
    // A caller who does not know the passphrase cannot restore the file, and the token is every right.
    if (options.passphrase === "" || options.includeServerOwn) requireRoot(grant);
    return this.#export(grant, options);
  }

  /** Newest first. @throws FAILED_PRECONDITION; UNAVAILABLE. */
  async list(signal: AbortSignal): Promise<readonly StoredBackup[]> {
    return this.#stored().files.list(signal);
  }

  /** @throws NOT_FOUND; FAILED_PRECONDITION; UNAVAILABLE. */
  async check(
    name: string,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<{ readonly backup: StoredBackup; readonly checked: CheckedBackup }> {
    const { files } = this.#stored();
    const backup = await files.find(name, signal);
    const content = await files.read(name, signal);
    const checked = await this.#check(content, passphrase || this.#ownPassphrase, signal);
    return { backup, checked };
  }

  /** Restores a backup of the target, or a document. */
  async restore(
    source: { readonly name: string } | { readonly document: unknown },
    caller: ArchiveCaller,
    options: RestoreOptions & { readonly signal: AbortSignal },
  ): Promise<Imported & { readonly omissions: readonly LeftOut[] }> {
    const isStored = "name" in source;
    const document = isStored ? await this.#read(source.name, options.signal) : source.document;
    const passphrase = options.passphrase || (isStored ? this.#ownPassphrase : "");
    const imported = await this.#deps.archive.import(document, caller, {
      ...options,
      passphrase,
      isRestore: true,
    });
    const { leftOut } = (document ?? {}) as { readonly leftOut?: unknown };
    return { ...imported, omissions: omissionsOf(leftOut) };
  }

  /** Removes old backups. */
  prune(options: { readonly dryRun: boolean; readonly signal: AbortSignal }): Promise<Pruned> {
    return this.#exclusively(options.signal, () => this.#prune(options));
  }

  /** @throws FAILED_PRECONDITION if the service keeps no backups. */
  #stored(): OpenTarget {
    if (this.#target === undefined) throw failedPrecondition(message("BACKUP_TARGET_MISSING"));
    return this.#target;
  }

  /** Passphrase of the service; empty: none. */
  get #ownPassphrase(): string {
    return this.#deps.passphrase ?? "";
  }

  /** @throws FAILED_PRECONDITION if neither the caller nor the service has one. */
  #passphraseOf(given: string): string {
    const passphrase = given || this.#ownPassphrase;
    if (passphrase === "") throw failedPrecondition(message("BACKUP_PASSPHRASE_MISSING"));
    return passphrase;
  }

  /** Runs work that writes to the target, one at a time among all processes. */
  #exclusively<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#writes.run(
      async () => {
        const release = await this.#deps.lease.take();
        if (release === undefined) throw busy();
        try {
          return await work();
        } finally {
          await release();
        }
      },
      { signal },
    );
  }

  #export(
    grant: ArchiveCaller["grant"],
    options: CreateOptions & { readonly renew?: () => Promise<void> },
  ): Promise<ArchiveDocument> {
    const { includeServerOwn, signal, renew } = options;
    return this.#deps.archive.export(grant, {
      secrets: { mode: "seal", passphrase: this.#passphraseOf(options.passphrase) },
      only: [],
      names: [],
      includeServerOwn,
      isBackup: true,
      signal,
      renew,
    });
  }

  async #read(given: string, signal: AbortSignal): Promise<unknown> {
    const { files } = this.#stored();
    const { name } = await files.find(given, signal);
    return parseBackupJson((await files.read(name, signal)).toString(), signal);
  }

  #check(content: Buffer, passphrase: string, signal: AbortSignal): Promise<CheckedBackup> {
    return this.#checks.run(() => this.#deps.check(content, passphrase, signal), { signal });
  }

  /** Problem of a backup; empty: it can be restored. */
  async #problemOf(content: Buffer, passphrase: string, signal: AbortSignal): Promise<Text> {
    return (await this.#check(content, passphrase, signal)).problem;
  }

  /** @param options.good name of a backup that was checked just before. */
  #prune(options: {
    readonly dryRun: boolean;
    readonly signal: AbortSignal;
    readonly good?: string;
  }): Promise<Pruned> {
    return pruneBackups(
      {
        ...this.#stored(),
        keep: this.#deps.keep,
        problemOf: (content, signal) => this.#problemOf(content, this.#ownPassphrase, signal),
      },
      options,
    );
  }
}

/** A target and the backups in it. */
interface OpenTarget {
  readonly target: BackupTarget;
  readonly files: BackupFiles;
}

/** @throws PERMISSION_DENIED. */
function requireRoot(grant: ArchiveCaller["grant"]): void {
  if (!grant.isRoot) throw denied(message("PERMANENT_TOKEN_REQUIRED"));
}

function busy(): ServiceError {
  return new ServiceError(Code.ResourceExhausted, message("BACKUP_BUSY"));
}

/** A target with its failures as UNAVAILABLE, and its backups. */
function openTarget(given: BackupTarget, deps: Pick<BackupServiceDeps, "databaseId">): OpenTarget {
  const target = mapTargetFailures(given);
  return { target, files: createBackupFiles(target, deps) };
}

/** Text of a failure for people. */
export function problemOf(error: unknown): Text {
  if (error instanceof ServiceError) return error.text;
  return errorText(error);
}
