import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "./folder.ts";

/** Milliseconds; the defaults suit a folder that people and configuration tools write to. */
export interface WatchTimes {
  /** Interval of checks in case the system reports nothing, in milliseconds. Default: 2000. */
  readonly interval?: number;
  /** Without a further report until a change counts as complete. Default: 100. */
  readonly quiet?: number;
}

export interface FolderWatch {
  readonly close: () => void;
}

/**
 * Calls `onChange` when a folder's driver files may have changed: possibly too often, never too
 * rarely. Reports of the system make it quick; checks of names, sizes and times at an interval make
 * it reliable, because reports are missing on network file systems, stop when the folder is
 * replaced, and may be refused (Linux limits their number).
 *
 * It keeps no process alive. After `close` there are no calls.
 */
export function watchFolder(
  directory: string,
  onChange: () => void,
  { interval = 2000, quiet = 100 }: WatchTimes = {},
): FolderWatch {
  let watcher: FSWatcher | undefined;
  let watched: string | undefined;
  let seen: string | undefined;
  let settle: NodeJS.Timeout | undefined;
  let closed = false;

  function report(): void {
    if (closed) return;
    clearTimeout(settle);
    settle = setTimeout(onChange, quiet).unref();
  }

  function unwatch(): void {
    watcher?.close();
    watcher = undefined;
    watched = undefined;
  }

  /** Watches the folder that has this identity; a replaced one needs a new watch. */
  function rewatch(identity: string | undefined): void {
    if (identity === watched && watcher !== undefined) return;
    unwatch();
    if (identity === undefined) return;
    try {
      watcher = watch(directory, { persistent: false }, report);
      watcher.on("error", unwatch);
      watched = identity;
    } catch {
      // The checks at an interval continue and try this again.
    }
  }

  async function look(): Promise<void> {
    const identity = await identityOf(directory);
    if (closed) return;
    // Before the fingerprint is taken, so that no change falls between the two.
    rewatch(identity);
    const fingerprint = await fingerprintOf(directory);
    if (closed) return;
    // Also the first time: something may have changed since the caller read the folder.
    if (seen !== fingerprint) report();
    seen = fingerprint;
    timer = setTimeout(() => void look(), interval).unref();
  }

  let timer: NodeJS.Timeout | undefined;
  void look();

  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
      clearTimeout(settle);
      unwatch();
    },
  };
}

async function identityOf(path: string): Promise<string | undefined> {
  const facts = await stat(path).catch(() => undefined);
  return facts && `${facts.dev}:${facts.ino}`;
}

/** Names, sizes and times of all driver files; a file or folder that can't be read counts too. */
async function fingerprintOf(directory: string): Promise<string> {
  const names = await listFolder(directory).catch((error: unknown) => [String(error)]);
  const facts = await Promise.all(
    names.map(async (name) => {
      const file = await stat(join(directory, name), { bigint: true }).catch(() => undefined);
      return [name, file && `${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`];
    }),
  );
  return JSON.stringify(facts);
}
