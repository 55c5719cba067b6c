import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { killTree } from "../../bench/proc.ts";
import { type Line, PLAN, type Plan } from "./plan.ts";

/** Time without output after which a run counts as hanging, in milliseconds. */
const SILENCE = 600_000;

interface Session {
  readonly lines: readonly Line[];
  /** Whether all tests have passed. */
  readonly hasPassed: boolean;
  /** Whether the run was ended because it hung. */
  readonly hasHung: boolean;
  /** Standard error of vitest. */
  readonly errors: string;
}

/** Runs the tests of a plan in a copy of the tree, in one process of vitest. */
export async function runSession(
  tree: string,
  plan: Omit<Plan, "output">,
  silence = SILENCE,
): Promise<Session> {
  const folder = mkdtempSync(join(tree, "run-"));
  const output = join(folder, "lines");
  const file = join(folder, "plan.json");
  writeFileSync(output, "");
  writeFileSync(file, JSON.stringify({ ...plan, output } satisfies Plan));
  const bail = plan.phase === "load" ? ["--bail=1"] : [];
  const child = spawn("vitest", ["run", "--config=tools/mutation/vitest.config.ts", ...bail], {
    cwd: tree,
    env: { ...process.env, [PLAN]: file },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const stop = (): void => {
    if (child.pid !== undefined) killTree(child.pid);
  };
  process.once("exit", stop);
  const ended = once(child, "close");
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors = (errors + data).slice(-10_000);
  });
  const watch = new AbortController();
  const hung = watchFile(output, silence, watch.signal).then((isSilent) => {
    if (isSilent) stop();
    return isSilent;
  });
  const [status] = await ended;
  watch.abort();
  process.off("exit", stop);
  const text = readFileSync(output, "utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  return {
    lines: lines.map((line): Line => JSON.parse(line)),
    hasPassed: status === 0,
    hasHung: await hung,
    errors,
  };
}

/**
 * @returns true if the file did not grow for `silence` milliseconds, false if the signal was
 *   aborted before.
 */
async function watchFile(path: string, silence: number, signal: AbortSignal): Promise<boolean> {
  let [size, since] = [-1, performance.now()];
  while (performance.now() - since < silence) {
    const now = statSync(path).size;
    if (now !== size) [size, since] = [now, performance.now()];
    try {
      await wait(1_000, undefined, { signal });
    } catch {
      return false;
    }
  }
  return true;
}

const ROOT = join(import.meta.dirname, "../..");

/** Copies all files that git does not ignore; packages are shared. @returns the folder. */
export function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  for (const path of new Set(listed.split("\0"))) {
    if (path === "" || !existsSync(join(ROOT, path))) continue;
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(folder, path));
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}
