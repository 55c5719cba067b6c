import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../../config/complaint.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { type BackupTarget, FILE_LIMITS, TargetFailure } from "./target.ts";

/** Mode of files and of a folder that is created: only the owner can read them. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Folder of the file system. It is created when the first backup is written. */
export function createFolderTarget(folder: string): BackupTarget {
  const pathOf = (name: string): string => join(folder, name);
  return {
    place: folder,
    list: (signal) =>
      attempt(async () => {
        const names = await readdir(folder).catch(ignoreMissing([]));
        const files = [];
        for (const name of names) {
          signal.throwIfAborted();
          const found = await stat(pathOf(name)).catch(ignoreMissing(undefined));
          if (found?.isFile() === true) files.push({ name, size: found.size });
        }
        return files;
      }),
    read: (name) =>
      attempt(async () => {
        const file = await open(pathOf(name), "r").catch(ignoreMissing(undefined));
        if (file === undefined) return undefined;
        try {
          const { size } = await file.stat();
          if (size > FILE_LIMITS.bytes)
            throw new TargetFailure(`${name} has more than ${FILE_LIMITS.bytes} bytes`);
          return await file.readFile();
        } finally {
          await file.close();
        }
      }),
    write: (name, content, signal) =>
      attempt(async () => {
        await makeFolder(folder, FOLDER_MODE);
        await using file = await open(pathOf(name), "wx", FILE_MODE);
        await file.writeFile(content, { signal });
        await file.sync();
      }),
    rename: (from, to) =>
      attempt(async () => {
        await rename(pathOf(from), pathOf(to));
        await syncFolder(folder);
      }),
    remove: (name) => attempt(() => rm(pathOf(name), { force: true })),
  };
}

/** The new name survives a failure of power. Windows has no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using opened = await open(folder, "r");
  await opened.sync();
}

function ignoreMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}

async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TargetFailure || (error as Error).name === "AbortError") throw error;
    throw new TargetFailure(reasonOf(error), { cause: error });
  }
}
