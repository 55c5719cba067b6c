// Longer than other files: everything that starts a process is here, so that everything stops it.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { killTree } from "./proc.ts";

/** Processor that measured servers run on; nothing else of the bench does. */
export const SERVER_CORE = "0";
/** Processor of the load generators and of the bench itself. */
export const LOAD_CORE = "1";
/** How long a process may take to end after SIGTERM, in milliseconds. */
const STOP_PATIENCE = 5_000;

/** What to start. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Processors to run on, as taskset takes them. */
  readonly cores: string;
}

/** A server that runs. */
export interface Running {
  readonly pid: number;
  /** Throws when the process has ended, with the end of what it printed. */
  assertAlive(): void;
  /** The last lines that it printed. */
  tail(): string;
  /** SIGTERM, then SIGKILL; resolves when it is gone. */
  stop(): Promise<void>;
}

/** A program that is talked to. */
export interface Conversation {
  /** Writes a line, or nothing, and resolves with the next line that the program prints. */
  ask(line?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Keeps account of processes and folders, so that nothing outlives the bench. */
export interface Stage {
  /** A fresh folder that `close` removes. @param parent default: the system's temporary folder. */
  folder(parent?: string): string;
  /** Starts a server; what it prints goes into a file. */
  start(command: Command): Running;
  /** Runs a program to its end and returns what it printed on stdout. */
  run(command: Command): Promise<string>;
  /** Starts a program that answers lines with lines. */
  converse(command: Command): Conversation;
  /** Runs this first when the stage closes, for what another part has started. */
  onClose(action: () => Promise<void>): void;
  /** Stops and removes everything, the newest first. */
  close(): Promise<void>;
  /** The same at once and without waiting, for the end of the process. */
  abandon(): void;
}

/** @param environment variables that every started process gets. */
export function createStage(environment: Readonly<Record<string, string | undefined>>): Stage {
  const children = new Set<ChildProcess>();
  const folders: string[] = [];
  const closers: (() => Promise<void>)[] = [];

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
    onClose: (action) => void closers.push(action),
    close: async () => {
      for (const action of closers.splice(0).reverse()) await action();
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
 * Stage of a whole run of the bench: the measured servers get no variable of this shell that changes
 * how they work, the bench itself stays off their core, and an interrupt ends every process at once.
 */
export async function createBenchStage(): Promise<Stage> {
  const entries = Object.entries(process.env);
  const stage = createStage(
    Object.fromEntries(
      entries.filter(([name]) => !name.startsWith("MOORING_") && name !== "NODE_OPTIONS"),
    ),
  );
  process.once("exit", () => stage.abandon());
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
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
