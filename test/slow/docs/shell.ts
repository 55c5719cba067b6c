import { execFile } from "node:child_process";
import { builtProgram } from "../../built.ts";

const PROGRAM = await builtProgram();

/** How a shell has ended, and what it has printed. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs lines of a page in bash, in which `mooring` is the built program. */
export function runInBash(
  lines: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const script = `mooring() { "${process.execPath}" "${PROGRAM}" "$@"; }\n${lines}`;
  const options = { cwd, env: { PATH: process.env["PATH"], ...env } };
  return new Promise((resolve) => {
    const child = execFile("bash", ["-c", script], options, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out: out.trim(), err }),
    );
  });
}
