import { join } from "node:path";
import { LOAD_CORE, type Stage } from "./stage.ts";

const root = join(import.meta.dirname, "..");
/** Where Node finds the packages that stay packages. */
const folder = join(root, "node_modules/.cache/mooring-package");

/** The program as it is in the repository. */
export const SOURCE = join(root, "src/main.ts");

/** Makes the package that `npm run build` makes, and returns its program. */
export async function makePackage(stage: Stage): Promise<string> {
  const args = [join(root, "tools/build.ts"), folder];
  await stage.run({ program: process.execPath, args, cores: LOAD_CORE });
  return join(folder, "src/main.js");
}
