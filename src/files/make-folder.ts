import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder and its missing parents. An existing folder, also one behind a link, stays as it is.
 *
 * The recursive mkdir of Node runs for ever below /proc, where mkdir reports a missing parent that exists.
 *
 * @param mode of the folders that are created.
 * @throws the error of the system, such as ENOENT, EACCES, or EEXIST for a file.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if (!isMissing(error) || parent === path) throw error;
    await makeFolder(parent, mode);
    await mkdir(path, mode).catch(async (failure) => {
      // Another process may have created it.
      if (!(await isFolder(path))) throw failure;
    });
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
