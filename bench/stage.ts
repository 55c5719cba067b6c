// Longer than other files: it has all code that starts and stops processes.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { killTree } from "./proc.ts";

/** Processor of measured servers, which the rest of the bench does not use. */
export const SERVER_CORE = "0";
/** Processor of the load generators and of the bench itself. */
export const LOAD_CORE = "1";
/** Time limit for a process to end after SIGTERM, in milliseconds. */
const STOP_PATIENCE = 5_000;

/** Command to start. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Processors, in the notation of taskset. */
  readonly cores: string;
}

/** Running server. */
export interface Running {
  readonly pid: number;
  /** Throws when the process has ended, with the end of its output. */
  assertAlive(): void;
  /** Last lines of its output. */
  tail(): string;
  /** Sends SIGTERM, then SIGKILL; resolves when the process has ended. */
  stop(): Promise<void>;
}

/** Program with line-based requests and replies. */
export interface Conversation {
  /** Writes a line, if given, and resolves with the next line of output. */
  ask(line?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Registry of processes and folders, which end with the bench. */
export interface Stage {
  /**
   * Creates a folder, which `close` removes. @param parent default: the system's temporary folder.
   */
  folder(parent?: string): string;
  /** Starts a server; its output goes into a file. */
  start(command: Command): Running;
  /** Runs a program to its end and returns its stdout. */
  run(command: Command): Promise<string>;
  /** Starts a program that answers each line of input with a line. */
  converse(command: Command): Conversation;
  /** Stops processes and removes folders, the newest first. */
  close(): Promise<void>;
  /** Like close, without waiting: for the end of the process. */
  abandon(): void;
}

/** @param environment variables of every started process. */
export function createStage(environment: Readonly<Record<string, string | undefined>>): Stage {
  const children = new Set<ChildProcess>();
  const folders: string[] = [];

  const launch = (command: Command, stdio: Stdio) => {
    const { program, args, cores } = command;
    const child = spawn("taskset", ["-c", cores, program, ...args], {
      env: { ...environment, ...command.environment },
      stdio,
    });
    children.add(child);
    child.once("exit", () => children.delete(child));
    child.once("error", () => children.delete(child));
    return child;
  };
  const folder = (parent = tmpdir()) => {
    const path = mkdtempSync(join(parent, "mooring-bench-"));
    folders.push(path);
    return path;
  };

  return {
    folder,
    start: (command) => {
      const log = join(folder(), "output");
      const file = openSync(log, "w");
      const child = launch(command, ["ignore", file, file]);
      closeSync(file);
      return running(child, command, log);
    },
    run: (command) => finish(launch(command, ["ignore", "pipe", "pipe"]), command),
    converse: (command) => conversation(launch(command, ["pipe", "pipe", "inherit"]), command),
    close: async () => {
      await Promise.all([...children].reverse().map(stop));
      for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
    },
    abandon: () => {
      for (const child of children) killTree(child.pid ?? 0);
      for (const path of folders) rmSync(path, { recursive: true, force: true });
    },
  };
}

/**
 * Stage of a whole run: the started servers get no variables of this shell that affect them, and an
 * interrupt ends every process at once.
 */
export function createRunStage(): Stage {
  const entries = Object.entries(process.env);
  const stage = createStage(
    Object.fromEntries(
      entries.filter(([name]) => !name.startsWith("MOORING_") && name !== "NODE_OPTIONS"),
    ),
  );
  process.once("exit", () => stage.abandon());
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  return stage;
}

/** Stage of a run of the bench, which stays off the core of the measured servers. */
export async function createBenchStage(): Promise<Stage> {
  const stage = createRunStage();
  const args = ["-a", "-p", "-c", LOAD_CORE, String(process.pid)];
  await stage.run({ program: "taskset", args, cores: LOAD_CORE });
  return stage;
}

type Stdio = ["ignore" | "pipe", "pipe" | number, "pipe" | "inherit" | number];

function running(child: ChildProcess, { program }: Command, log: string): Running {
  const tail = () => readFileSync(log, "utf8").split("\n").slice(-12).join("\n").trim();
  if (child.pid === undefined) throw new Error(`${program} could not be started`);
  return {
    pid: child.pid,
    tail,
    assertAlive: () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${program} ended with ${child.exitCode ?? child.signalCode}:\n${tail()}`);
    },
    stop: () => stop(child),
  };
}

function conversation(child: ChildProcess, { program }: Command): Conversation {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error(`${program} has no pipes`);
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    ask: async (line) => {
      if (line !== undefined) stdin.write(`${line}\n`);
      const next = await lines.next();
      if (next.done === true) throw new Error(`${program} ended before it answered`);
      return next.value;
    },
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const force = setTimeout(() => killTree(child.pid ?? 0), STOP_PATIENCE);
  await ended;
  clearTimeout(force);
}

function finish(child: ChildProcess, { program }: Command): Promise<string> {
  const printed = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    printed.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    printed.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve(printed.stdout);
      else reject(new Error(`${program} ended with ${code ?? signal}: ${printed.stderr.trim()}`));
    });
  });
}
