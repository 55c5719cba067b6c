import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TestContext } from "vitest";
import { freePort } from "../../bench/port.ts";
import { isRunning, killTree, processTree } from "../../bench/proc.ts";

/** A real program, started by a test. */
export interface Program {
  /**
   * Ends the program and its children by their process ids, waits for their end and removes its
   * folder. Idempotent.
   */
  stop(): Promise<void>;
}

/** How to start a program. */
export interface ProgramStart {
  readonly command: string;
  /** Arguments for a free port; may write files into the program's own folder. */
  readonly prepare: (port: number, folder: string) => Promise<readonly string[]>;
  /** Whether the program answers on its port. */
  readonly isReady: (port: number) => Promise<boolean>;
}

/**
 * Skips the tests of a file or group if programs are not installed, and reports the first missing
 * one. With MOORING_TEST_REQUIRE_PROGRAMS they fail instead.
 */
export function needs(...commands: readonly string[]): (context: TestContext) => void {
  const missing = commands.find((command) => spawnSync(command, ["--version"]).error !== undefined);
  if (missing !== undefined && process.env["MOORING_TEST_REQUIRE_PROGRAMS"] !== undefined)
    throw new Error(`${missing} is not installed, and MOORING_TEST_REQUIRE_PROGRAMS is set`);
  return (context) => context.skip(missing !== undefined, `${missing} is not installed`);
}

/** Starts a program on a free port of this machine and waits until it answers. */
export async function startProgram(start: ProgramStart): Promise<Program & { port: number }> {
  const folder = await mkdtemp(join(tmpdir(), `${start.command}-`));
  const port = await freePort();
  const args = await start.prepare(port, folder);
  // Files of its user are in its folder.
  const env = { ...process.env, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const child = spawn(start.command, args, { env, stdio: "ignore" });
  const atExit = () => killTree(child.pid ?? 0);
  process.once("exit", atExit);
  const stop = async () => {
    await end(child);
    process.off("exit", atExit);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(child, () => start.isReady(port));
    return { port, stop };
  } catch (error) {
    await stop();
    throw new Error(`${start.command} did not start`, { cause: error });
  }
}

const POLLS = 400;
const POLL_MS = 50;

async function untilReady(child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  let failed: unknown;
  child.once("error", (error) => {
    failed = error;
  });
  for (let poll = 0; poll < POLLS; poll++) {
    if (failed !== undefined) throw failed;
    if (hasEnded(child)) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    if (await isReady().catch(() => false)) return;
    await pause(POLL_MS);
  }
  throw new Error("it does not answer");
}

// Immediately: its folder is removed, so it has nothing to save.
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const members = processTree(child.pid);
  killTree(child.pid);
  await ended;
  while (members.some(isRunning)) await pause(POLL_MS);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
