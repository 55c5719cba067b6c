// Fails when the contract breaks clients of the version on main (on main itself: of the previous
// commit).
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const base = ["origin/main", "main", "HEAD~1"].find(isOlderWithContract);
if (base === undefined) process.stdout.write("there is no older contract to compare with\n");
else process.exitCode = compareWith(base);

function isOlderWithContract(ref: string): boolean {
  const commit = git("rev-parse", "-q", "--verify", ref);
  return (
    commit !== "" && commit !== git("rev-parse", "HEAD") && git("ls-tree", ref, "proto") !== ""
  );
}

function git(...args: readonly string[]): string {
  return spawnSync("git", args, { encoding: "utf8" }).stdout.trim();
}

/** Compares in a separate folder, because imports come from packages, which are not in git. */
function compareWith(ref: string): number {
  const folder = mkdtempSync(join(tmpdir(), "mooring-breaking-"));
  const archive = spawnSync("git", ["archive", ref, "proto", "buf.yaml"]);
  spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout });
  // Modules are matched by names and paths, so the current configuration is used.
  copyFileSync("buf.yaml", join(folder, "buf.yaml"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const { status } = spawnSync("buf", ["breaking", "--against", folder], { stdio: "inherit" });
  rmSync(folder, { recursive: true });
  return status ?? 1;
}
