import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TestContext } from "vitest";
import { isRunning, killTree, processTree } from "../../bench/proc.ts";

/** A real program that a test started. */
export interface Program {
  /** Ends it and what it has started, by their process ids, waits for their end and removes its folder. May be repeated. */
  stop(): Promise<void>;
}

/** How a program is started. */
export interface ProgramStart {
  readonly command: string;
  /** The arguments for a free port; may write into the folder, which is the program's own. */
  readonly prepare: (port: number, folder: string) => Promise<readonly string[]>;
  /** Whether it answers at its port. */
  readonly isReady: (port: number) => Promise<boolean>;
}

/**
 * Skips the tests of a file or group where programs are not installed, and names the first. Where
 * MOORING_TEST_REQUIRE_PROGRAMS is set they fail instead.
 */
export function needs(...commands: readonly string[]): (context: TestContext) => void {
  const missing = commands.find((command) => spawnSync(command, ["--version"]).error !== undefined);
  if (missing !== undefined && process.env["MOORING_TEST_REQUIRE_PROGRAMS"] !== undefined)
    throw new Error(`${missing} is not installed, and MOORING_TEST_REQUIRE_PROGRAMS is set`);
  return (context) => context.skip(missing !== undefined, `${missing} is not installed`);
}

/** Starts a program on a free port of this machine and waits until it answers there. */
export async function startProgram(start: ProgramStart): Promise<Program & { port: number }> {
  const folder = await mkdtemp(join(tmpdir(), `${start.command}-`));
  const port = await freePort();
  const args = await start.prepare(port, folder);
  // What it keeps for a user goes with its folder.
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

/** A port that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
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

// At once: its folder goes with it, so that there is nothing to save.
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
