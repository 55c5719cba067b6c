import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Installs the versions of a folder's lock file, unless they are installed. Scripts of packages are
 * not run.
 *
 * @param folder with package.json and package-lock.json.
 * @param options of `npm ci`.
 */
export function installLocked(folder: string, options: readonly string[] = []): void {
  const lock = join(folder, "package-lock.json");
  const done = join(folder, "node_modules/.installed-lock.json");
  if (existsSync(done) && readFileSync(done, "utf8") === readFileSync(lock, "utf8")) return;
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...options];
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ci in ${folder}: ${stderr}${stdout}`);
  copyFileSync(lock, done);
}
