import { chmodSync, mkdtempSync, rmSync, statfsSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { installDevelopment } from "../tools/development.ts";
import { DATABASES, RUN_FOLDER } from "./once.ts";

/** Linux file system in memory, and the space that it needs, in bytes. */
const MEMORY = "/dev/shm";
const ENOUGH = 512 * 2 ** 20;

/** Before all tests. */
export default function startRun(project: TestProject): void {
  // An invalid driver file is reported once, and not by each test that starts a service.
  readBuiltIn();
  installPrograms();
  let remove = newFolders();
  project.onTestsRerun(async () => {
    remove();
    remove = newFolders();
  });
  // Not in a teardown: the processes of the tests end after it.
  process.once("exit", () => remove());
}

/** Without a network, only the tests that need one of the programs fail. */
function installPrograms(): void {
  try {
    installDevelopment();
  } catch (error) {
    process.stderr.write(`programs for developers are not installed: ${error}\n`);
  }
}

/** Programs built there find their packages, and users without rights can read the files. */
function newFolders(): () => void {
  const folder = newFolder(tmpdir());
  symlinkSync(join(import.meta.dirname, "../node_modules"), join(folder, "node_modules"));
  const databases = newFolder(hasRoom(MEMORY) ? MEMORY : tmpdir());
  process.env[RUN_FOLDER] = folder;
  process.env[DATABASES] = databases;
  return () => {
    for (const each of [folder, databases]) rmSync(each, { recursive: true, force: true });
  };
}

function newFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, "mooring-run-"));
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}
