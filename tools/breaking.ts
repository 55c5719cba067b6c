// Fails when the contract breaks clients of a revision in git, by default of the newest release, the
// tag vX.Y.Z: `node tools/breaking.ts [REVISION]`. Before the first release every change is permitted.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const [newest = ""] = git("tag", "--list", "v*", "--sort=-version:refname").split("\n");
const released = process.argv[2] ?? newest;
if (released === "")
  process.stdout.write("no version is released: there is no contract to compare with\n");
else {
  const config = join(import.meta.dirname, "breaking.yaml");
  const before = `${git("rev-parse", "--git-common-dir")}#ref=${released}`;
  const args = ["--config", config, "--against", before, "--against-config", config];
  const buf = ["tools/buf.ts", "breaking", ...args];
  process.exitCode = spawnSync("node", buf, { stdio: "inherit" }).status ?? 1;
}

function git(...args: readonly string[]): string {
  return spawnSync("git", args, { encoding: "utf8" }).stdout.trim();
}
