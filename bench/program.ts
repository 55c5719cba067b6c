import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Required programs that npm does not install, with their Debian packages. */
export const packages = {
  wrk: "wrk",
  h2load: "nghttp2-client",
  taskset: "util-linux",
  chromium: "chromium",
  nginx: "nginx",
  curl: "curl",
} as const;

/** Name of a required program. */
export type Program = keyof typeof packages;

/** Programs of the table that are in no folder of `path` (the PATH variable). */
export function missingPrograms(path: string): Program[] {
  const folders = path.split(delimiter);
  const names = Object.keys(packages) as Program[];
  return names.filter((name) => !folders.some((folder) => executable(join(folder, name))));
}

/**
 * Path of a program in the folders of `path` (the PATH variable). @throws Error if there is none.
 */
export function executableOf(program: Program, path: string): string {
  const file = path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(executable);
  if (file === undefined) throw new Error(installHint(program));
  return file;
}

/** Advice for installing a missing program. */
export function installHint(program: Program): string {
  return `${program} is not installed (Debian: apt-get install ${packages[program]})`;
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
