import { Code } from "@connectrpc/connect";
import { ROOT } from "../access/grant.ts";
import type { Archive, Imported, ImportOptions } from "../archive/archive.ts";
import type { ArchiveDocument, LeftOut } from "../archive/document.ts";
import type { ArchiveCaller } from "../archive/part.ts";
import { checkSize, parseBackupJson } from "../archive/readable.ts";
import { createTurns } from "../archive/turn.ts";
import {
  denied,
  failedPrecondition,
  notFound,
  ServiceError,
  unavailable,
} from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { type CheckContent, type CheckedBackup, omissionsOf } from "./check.ts";
import { chooseKept, type Keep } from "./keep.ts";
import { backupName, isUnfinished, readBackupName, unfinishedName } from "./name.ts";
import { type BackupTarget, TargetFailure } from "./target/target.ts";
import { archiveBytes } from "./text.ts";

/** Backup in the target. */
export interface StoredBackup {
  readonly name: string;
  /** Time of creation in milliseconds since 1970 UTC. */
  readonly time: number;
  /** Size in bytes. */
  readonly size: number;
  readonly databaseId: string;
  /** Whether it is of this service's database. */
  readonly isOwn: boolean;
}

/** Result of a backup that was stored. */
export interface Created {
  readonly backup: StoredBackup;
  readonly counts: Readonly<Record<string, number>>;
  readonly omissions: readonly LeftOut[];
  readonly revision: number;
  readonly removed: readonly StoredBackup[];
}

export interface Pruned {
  readonly removed: readonly StoredBackup[];
  readonly kept: readonly StoredBackup[];
  /** Names of files with the name of a backup of this service that are none. */
  readonly unknown: readonly string[];
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
  /** Called after a backup was stored, and after a pruning. */
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
  const checks = createTurns(MOST_WAITING, busy);
  const writes = createTurns(MOST_WAITING, busy);

  /** Runs work that writes to the target, alone among all processes. */
  const alone = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const end = await writes.take(0, signal);
    try {
      const release = await deps.lease.take();
      if (release === undefined) throw busy();
      try {
        return await work();
      } finally {
        await release();
      }
    } finally {
      end();
    }
  };
  const target = (): BackupTarget => {
    if (deps.target === undefined) throw failedPrecondition(message("BACKUP_TARGET_MISSING"));
    return mapped(deps.target);
  };
  const passphraseOf = (given: string): string => {
    const passphrase = given === "" ? (deps.passphrase ?? "") : given;
    if (passphrase === "") throw failedPrecondition(message("BACKUP_PASSPHRASE_MISSING"));
    return passphrase;
  };
  const list = async (signal: AbortSignal): Promise<readonly StoredBackup[]> => {
    const databaseId = deps.databaseId();
    const files = await target().list(signal);
    return files
      .flatMap(({ name, size }): StoredBackup[] => {
        const facts = readBackupName(name);
        if (facts === undefined) return [];
        return [{ name, size, ...facts, isOwn: facts.databaseId === databaseId }];
      })
      .sort((a, b) => b.time - a.time || (a.name < b.name ? -1 : 1));
  };
  const find = async (name: string, signal: AbortSignal): Promise<StoredBackup> => {
    // The name of a listed file only: it is never a path.
    const found = (await list(signal)).find((each) => each.name === name);
    if (found !== undefined) return found;
    throw notFound(message("BACKUP_NOT_FOUND", { name: JSON.stringify(name.slice(0, 128)) }));
  };
  const read = async (name: string, signal: AbortSignal): Promise<Buffer> => {
    const content = await target().read(name, signal);
    if (content !== undefined) return content;
    throw notFound(message("BACKUP_NOT_FOUND", { name: JSON.stringify(name.slice(0, 128)) }));
  };
  const checkAlone = async (
    content: Buffer,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<CheckedBackup> => {
    const end = await checks.take(0, signal);
    try {
      return await check(content, passphrase, signal);
    } finally {
      end();
    }
  };

  /**
   * Removes what `keep` does not keep. Nothing is removed unless the newest backup, or else an older
   * one that is kept then, can still be restored.
   *
   * @param good name of a backup that was just checked.
   */
  const prune = async (
    { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal },
    good?: string,
  ): Promise<Pruned> => {
    const own = (await list(signal)).filter(({ isOwn }) => isOwn);
    const kept = chooseKept(own, keep);
    const newestGood = await newestRestorable(own, good, signal);
    if (newestGood !== undefined) kept.add(newestGood);
    const removed: StoredBackup[] = [];
    const unknown: string[] = [];
    for (const backup of own) {
      if (kept.has(backup.name) || newestGood === undefined) continue;
      if (!(await isOwnContent(backup, signal))) {
        unknown.push(backup.name);
        continue;
      }
      if (!dryRun) await target().remove(backup.name, signal);
      removed.push(backup);
    }
    const gone = new Set([...removed.map(({ name }) => name), ...unknown]);
    return { removed, unknown, kept: own.filter(({ name }) => !gone.has(name)) };
  };
  /** Name of the newest backup that can be restored; undefined: none. */
  const newestRestorable = async (
    own: readonly StoredBackup[],
    good: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> => {
    if (good !== undefined) return good;
    for (const { name } of own) {
      const content = await target().read(name, signal);
      if (content === undefined) continue;
      const { problem } = await checkAlone(content, deps.passphrase ?? "", signal);
      if (problem === "") return name;
    }
    return undefined;
  };
  /** A file is removed only if its content is a backup of this service too. */
  const isOwnContent = async (
    { name, databaseId }: StoredBackup,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const content = await target().read(name, signal);
    if (content === undefined) return false;
    const start = content.subarray(0, HEADER_BYTES).toString("utf8");
    return (
      /^\{\s*"format":\s*"mooring-archive"/.test(start) &&
      start.includes(`"databaseId": ${JSON.stringify(databaseId)}`)
    );
  };
  const removeUnfinished = async (signal: AbortSignal): Promise<void> => {
    for (const { name } of await target().list(signal))
      if (isUnfinished(name, deps.databaseId())) await target().remove(name, signal);
  };
  /** Writes a backup, and gives it its name when it was read back and can be restored. */
  const store = async (
    name: string,
    content: Buffer,
    passphrase: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const unfinished = unfinishedName(name);
    await removeUnfinished(signal);
    try {
      await target().write(unfinished, content, signal);
      const back = await target().read(unfinished, signal);
      if (back === undefined || !back.equals(content))
        throw unavailable(message("BACKUP_READ_BACK", { place: target().place }));
      const { problem } = await checkAlone(back, passphrase, signal);
      if (problem !== "")
        throw failedPrecondition(message("BACKUP_NOT_RESTORABLE", { reason: problem }));
      await target().rename(unfinished, name, signal);
    } catch (error) {
      // The signal of the call may be the reason of the failure.
      const cleaning = new AbortController().signal;
      await target()
        .remove(unfinished, cleaning)
        .catch(() => undefined);
      throw error;
    }
  };
  return {
    place: deps.target?.place,
    create: async ({ passphrase: given, includeServerOwn, signal }) => {
      target();
      const passphrase = passphraseOf(given);
      return alone(signal, async () => {
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
        await store(name, content, passphrase, signal);
        const backup = { name, time, size: content.length, databaseId, isOwn: true };
        deps.changed?.();
        const { removed } = await prune({ dryRun: false, signal }, name);
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
    list,
    canExport: archive.canExport,
    check: async (name, passphrase, signal) => {
      const backup = await find(name, signal);
      const content = await read(name, signal);
      const checked = await checkAlone(content, passphrase || (deps.passphrase ?? ""), signal);
      return { backup, checked };
    },
    restore: async (source, caller, options) => {
      const { signal } = options;
      const isStored = "name" in source;
      const document = isStored
        ? parseBackupJson((await read((await find(source.name, signal)).name, signal)).toString())
        : source.document;
      const passphrase = options.passphrase || (isStored ? (deps.passphrase ?? "") : "");
      const imported = await archive.import(document, caller, {
        ...options,
        passphrase,
        isRestore: true,
      });
      const { leftOut } = (document ?? {}) as { readonly leftOut?: unknown };
      return { ...imported, omissions: omissionsOf(leftOut) };
    },
    prune: (options) => alone(options.signal, () => prune(options)),
  };
}

/** Length of the beginning of a file with its header, in bytes. */
const HEADER_BYTES = 1_024;

/** The target with its failures as UNAVAILABLE. */
function mapped(target: BackupTarget): BackupTarget {
  const { place } = target;
  const attempt = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof TargetFailure)) throw error;
      throw unavailable(message("BACKUP_TARGET_FAILED", { place, reason: error.message }), error);
    }
  };
  return {
    place,
    list: (...of) => attempt(target.list(...of)),
    read: (...of) => attempt(target.read(...of)),
    write: (...of) => attempt(target.write(...of)),
    rename: (...of) => attempt(target.rename(...of)),
    remove: (...of) => attempt(target.remove(...of)),
  };
}

/** Text of a failure for people. */
export function problemOf(error: unknown): Text {
  if (error instanceof ServiceError) return error.text;
  return error instanceof Error ? error.message : String(error);
}
