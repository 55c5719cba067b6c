import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { oncePerRun } from "./once.ts";

const ROOT = join(import.meta.dirname, "..");

/**
 * The program, built by `npm run build` with the console, as users start it; starts in little more
 * than half the time of its source.
 *
 * @returns its main file.
 */
export async function builtProgram(): Promise<string> {
  const folder = await oncePerRun("program", (path) => {
    execFileSync(process.execPath, [join(ROOT, "tools/build.ts"), path], {
      stdio: "pipe",
      timeout: 170_000,
    });
  });
  return join(folder, "src/main.js");
}
