import { failedPrecondition, notFound, type ServiceError, unavailable } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { isUnfinished, readBackupName, unfinishedName } from "./name.ts";
import type { BackupTarget } from "./target/target.ts";

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

/** Backups among the files of a target. UNAVAILABLE: the target fails. */
export interface BackupFiles {
  /** Newest first. */
  list(signal: AbortSignal): Promise<readonly StoredBackup[]>;
  /** @throws NOT_FOUND. */
  find(name: string, signal: AbortSignal): Promise<StoredBackup>;
  /** @throws NOT_FOUND. */
  read(name: string, signal: AbortSignal): Promise<Buffer>;
  /**
   * Writes a backup, and gives it its name when it was read back and can be restored.
   *
   * @param options.problemOf checks the file that was read back; empty: it can be restored.
   * @throws FAILED_PRECONDITION: it cannot.
   */
  store(
    name: string,
    content: Buffer,
    options: {
      readonly problemOf: (content: Buffer) => Promise<Text>;
      readonly signal: AbortSignal;
    },
  ): Promise<void>;
  /** Reports whether the content of a file, besides its name, is a backup of this service. */
  isOwnContent(backup: StoredBackup, signal: AbortSignal): Promise<boolean>;
}

/** Length of the beginning of a file with its header, in bytes. */
const HEADER_BYTES = 1_024;

export function createBackupFiles(
  target: BackupTarget,
  deps: { readonly databaseId: () => string },
): BackupFiles {
  const list: BackupFiles["list"] = async (signal) => {
    const databaseId = deps.databaseId();
    const files = await target.list(signal);
    return files
      .flatMap(({ name, size }): StoredBackup[] => {
        const facts = readBackupName(name);
        if (facts === undefined) return [];
        return [{ name, size, ...facts, isOwn: facts.databaseId === databaseId }];
      })
      .sort((a, b) => b.time - a.time || (a.name < b.name ? -1 : 1));
  };
  const find: BackupFiles["find"] = async (name, signal) => {
    // The name of a listed file only: it is never a path.
    const found = (await list(signal)).find((each) => each.name === name);
    if (found !== undefined) return found;
    throw unknownBackup(name);
  };
  const read: BackupFiles["read"] = async (name, signal) => {
    const content = await target.read(name, signal);
    if (content !== undefined) return content;
    throw unknownBackup(name);
  };
  const isOwnContent: BackupFiles["isOwnContent"] = async ({ name, databaseId }, signal) => {
    const content = await target.read(name, signal);
    if (content === undefined) return false;
    const start = content.subarray(0, HEADER_BYTES).toString("utf8");
    return (
      /^\{\s*"format":\s*"mooring-archive"/.test(start) &&
      start.includes(`"databaseId": ${JSON.stringify(databaseId)}`)
    );
  };
  const removeUnfinished = async (signal: AbortSignal): Promise<void> => {
    for (const { name } of await target.list(signal))
      if (isUnfinished(name, deps.databaseId())) await target.remove(name, signal);
  };
  const store: BackupFiles["store"] = async (name, content, { problemOf, signal }) => {
    const unfinished = unfinishedName(name);
    await removeUnfinished(signal);
    try {
      await target.write(unfinished, content, signal);
      const back = await target.read(unfinished, signal);
      if (back === undefined || !back.equals(content))
        throw unavailable(message("BACKUP_READ_BACK", { place: target.place }));
      const problem = await problemOf(back);
      if (problem !== "")
        throw failedPrecondition(message("BACKUP_NOT_RESTORABLE", { reason: problem }));
      await target.rename(unfinished, name, signal);
    } catch (error) {
      // The signal of the call may be the reason of the failure.
      const cleaning = new AbortController().signal;
      await target.remove(unfinished, cleaning).catch(() => undefined);
      throw error;
    }
  };
  return { list, find, read, store, isOwnContent };
}

function unknownBackup(name: string): ServiceError {
  return notFound(message("BACKUP_NOT_FOUND", { name: JSON.stringify(name.slice(0, 128)) }));
}
