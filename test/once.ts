import { existsSync, mkdirSync, rmSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A folder of this run; it is removed at its end. */
export const RUN_FOLDER = "MOORING_TEST_RUN_FOLDER";
/** The folder for databases of this run, in memory if that has space; removed at its end. */
export const DATABASES = "MOORING_TEST_DATABASES";

/**
 * Makes something slow once in a run: the first caller makes it, the others wait. It may be copied
 * and used, but not changed.
 *
 * @param make makes a file or folder at the given path.
 * @returns its path.
 */
export async function oncePerRun(
  name: string,
  make: (path: string) => void | Promise<void>,
): Promise<string> {
  const folder = process.env[RUN_FOLDER];
  if (folder === undefined) throw new Error(`${RUN_FOLDER} names no folder for "${name}"`);
  const made = join(folder, name);
  const lock = `${made}.lock`;
  for (;;) {
    if (existsSync(made)) return made;
    try {
      mkdirSync(lock);
      break;
    } catch {
      // Another process makes it. If that fails, the lock is removed, and this process tries.
      await sleep(50);
    }
  }
  try {
    // Another process may have finished it between the check and the lock.
    if (existsSync(made)) return made;
    await make(`${made}.new`);
    await rename(`${made}.new`, made);
    return made;
  } finally {
    rmSync(lock, { recursive: true });
  }
}
