import type { Text } from "../messages/message.ts";
import type { BackupFiles, StoredBackup } from "./files.ts";
import { chooseKept, type Keep } from "./keep.ts";
import type { BackupTarget } from "./target/target.ts";

export interface Pruned {
  readonly removed: readonly StoredBackup[];
  readonly kept: readonly StoredBackup[];
  /** Names of files with the name of a backup of this service that are none. */
  readonly unknown: readonly string[];
  /** Backups of other databases. They stay. */
  readonly others: readonly StoredBackup[];
}

export interface PruneDeps {
  readonly target: BackupTarget;
  readonly files: BackupFiles;
  readonly keep: Keep;
  /** Checks a backup; empty: it can be restored. */
  readonly problemOf: (content: Buffer, signal: AbortSignal) => Promise<Text>;
}

/**
 * Removes backups that `keep` does not keep. Nothing is removed unless the newest backup, or else an
 * older one that is kept then, can still be restored.
 *
 * @param options.good name of a backup that was just checked.
 */
export async function pruneBackups(
  deps: PruneDeps,
  {
    dryRun,
    signal,
    good,
  }: { readonly dryRun: boolean; readonly signal: AbortSignal; readonly good?: string },
): Promise<Pruned> {
  const { target, files, keep } = deps;
  const all = await files.list(signal);
  const own = all.filter(({ isOwn }) => isOwn);
  const kept = chooseKept(own, keep);
  const newestGood = good ?? (await newestRestorable(own, deps, signal));
  if (newestGood !== undefined) kept.add(newestGood);
  const removed: StoredBackup[] = [];
  const unknown: string[] = [];
  for (const backup of own) {
    if (kept.has(backup.name) || newestGood === undefined) continue;
    if (!(await files.isOwnContent(backup, signal))) {
      unknown.push(backup.name);
      continue;
    }
    if (!dryRun) await target.remove(backup.name, signal);
    removed.push(backup);
  }
  const gone = new Set([...removed.map(({ name }) => name), ...unknown]);
  return {
    removed,
    unknown,
    kept: own.filter(({ name }) => !gone.has(name)),
    others: all.filter(({ isOwn }) => !isOwn),
  };
}

/** Name of the newest backup that can be restored; undefined: none. */
async function newestRestorable(
  own: readonly StoredBackup[],
  { target, problemOf }: PruneDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { name } of own) {
    const content = await target.read(name, signal);
    if (content === undefined) continue;
    if ((await problemOf(content, signal)) === "") return name;
  }
  return undefined;
}
