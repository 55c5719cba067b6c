// Builds mooring-VERSION.tgz, an npm package: the command `mooring` for an installed Node.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { copyPapers, makeProgram } from "./program.ts";
import { run } from "./step.ts";

/** @param target folder of the package. */
export function makeNpmPackage(target: string): void {
  const folder = join(target, "npm");
  rmSync(folder, { recursive: true, force: true });
  makeProgram(folder);
  copyPapers(folder);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}
