import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that the bench uses and that npm does not install: name to Debian package. */
export const packages = {
  wrk: "wrk",
  h2load: "nghttp2-client",
  etcd: "etcd-server",
  taskset: "util-linux",
  chromium: "chromium",
  nginx: "nginx",
  curl: "curl",
} as const;

/** A program that may be missing. */
export type Program = keyof typeof packages;

/** The programs of the table that no folder of `path` (the PATH variable) holds. */
export function missingPrograms(path: string): Program[] {
  const folders = path.split(delimiter);
  const names = Object.keys(packages) as Program[];
  return names.filter((name) => !folders.some((folder) => executable(join(folder, name))));
}

/** The file of a program, in the folders of `path` (the PATH variable). @throws where there is none. */
export function executableOf(program: Program, path: string): string {
  const file = path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(executable);
  if (file === undefined) throw new Error(installHint(program));
  return file;
}

/** What to tell somebody whose machine lacks this program. */
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
