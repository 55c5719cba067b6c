import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { DATABASES } from "../once.ts";

/**
 * A new folder for a database. Its files are in memory if that has space: commits wait for no disk.
 */
export function newDatabaseFolder(): string {
  return mkdtempSync(join(process.env[DATABASES] ?? tmpdir(), "mooring-"));
}

/** @returns a function that makes a path in a new folder; all are removed after the file's tests. */
export function temporaryPaths(): (name?: string) => string {
  // Created at the first use: if every test is skipped, nothing has to be removed.
  let root: string | undefined;
  afterAll(() => {
    if (root !== undefined) rmSync(root, { recursive: true, force: true });
  });
  return (name = "mooring.db") => {
    root ??= newDatabaseFolder();
    return join(mkdtempSync(join(root, "case-")), name);
  };
}

/** A new folder for files of tests: for `startedForAll` and `startedForEach`. */
export function newFolder() {
  const path = mkdtempSync(join(tmpdir(), "mooring-files-"));
  return {
    path,
    /** @returns the path of a file in it. */
    at: (...names: string[]): string => join(path, ...names),
    remove: (): void => rmSync(path, { recursive: true, force: true }),
  };
}
