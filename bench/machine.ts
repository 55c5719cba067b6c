import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";

/** Type of the file system in memory (statfs(2)), where durable commits are free. */
const TMPFS = 0x01021994;

/** Machine and program of a run, a line each. @param command command line of the bench. */
export function describeMachine(command: string): string[] {
  const [processor] = cpus();
  const gigabytes = Math.round(totalmem() / 1e9);
  const folder = tmpdir();
  const git = ["describe", "--always", "--dirty"];
  const { stdout } = spawnSync("git", git, { cwd: import.meta.dirname, encoding: "utf8" });
  // Paths of files are omitted.
  const shown = command.replace(/ (--json|--server) \S+/g, " $1 …");
  return [
    `${new Date().toISOString().slice(0, 10)}, \`${shown}\`, commit ${stdout?.trim() || "unknown"}`,
    `${cpus().length} × ${processor?.model ?? "unknown processor"}, ${gigabytes} GB, Linux ${release()}, load average ${loadavg()[0]?.toFixed(1)} before the run`,
    statfsSync(folder).type === TMPFS
      ? `databases in ${folder}, which is in memory: commits cost no disk there, set TMPDIR to a folder on a disk`
      : "databases on a disk",
    `Node ${process.versions.node}`,
  ];
}
