import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { oncePerRun } from "./once.ts";

const ROOT = join(import.meta.dirname, "..");

/**
 * The documentation site, built by `npm run docs:site`.
 *
 * @returns its folder.
 */
export async function builtSite(): Promise<string> {
  await oncePerRun("site", (path) => {
    execFileSync(process.execPath, [join(ROOT, "tools/site.ts"), "--when-changed"], {
      stdio: "pipe",
      timeout: 170_000,
    });
    mkdirSync(path);
  });
  return join(ROOT, "site");
}
