// Programs for developers that a user of the service does not need, with a lock file of their own:
// `npm ci` would need 260 MB for them. `node tools/development.ts` installs them; scripts and tests
// that use one install them on first use.
import { delimiter, join } from "node:path";
import { installLocked } from "./install.ts";

const folder = join(import.meta.dirname, "development");

/** Folder of the installed packages. */
export const developmentModules = join(folder, "node_modules");
const bin = join(developmentModules, ".bin");

/** Path of a program, such as `buf`. */
export function developmentProgram(name: string): string {
  return join(bin, name);
}

/** Environment in which programs find each other: buf runs protoc-gen-es. */
export function developmentEnvironment(): NodeJS.ProcessEnv {
  const { PATH = "", ...env } = process.env;
  return { ...env, PATH: `${bin}${delimiter}${PATH}` };
}

/** Installs the programs, unless installed. @throws Error with the output of npm. */
export function installDevelopment(): void {
  installLocked(folder);
}

if (import.meta.main) installDevelopment();
