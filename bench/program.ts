import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Required programs that npm does not install, with their Debian packages. */
const packages = {
  wrk: "wrk",
  h2load: "nghttp2-client",
  taskset: "util-linux",
  chromium: "chromium",
  nginx: "nginx",
  curl: "curl",
} as const;

/** Name of a required program. */
export type Program = keyof typeof packages;

/** Path of a program in a folder of PATH; undefined: it is not installed. */
export function pathOfProgram(program: Program): string | undefined {
  const { PATH = "" } = process.env;
  return PATH.split(delimiter)
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

/** Advice for installing a missing program. */
export function installHint(program: Program): string {
  return `${program} is not installed (Debian: apt-get install ${packages[program]})`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
