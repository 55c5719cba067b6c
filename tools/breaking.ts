// Fails when the contract breaks clients of the newest release, the tag vX.Y.Z. Before the first
// release every change is permitted.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [release] = git("tag", "--list", "v*", "--sort=-version:refname").split("\n");
if (release === undefined || release === "")
  process.stdout.write("no version is released: there is no contract to compare with\n");
else process.exitCode = compareWith(release);

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
  const { status } = spawnSync("node", ["tools/buf.ts", "breaking", "--against", folder], {
    stdio: "inherit",
  });
  rmSync(folder, { recursive: true });
  return status ?? 1;
}
