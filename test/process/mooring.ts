import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { builtProgram } from "../built.ts";
import { newDatabaseFolder } from "../store/folder.ts";

const PROGRAM = await builtProgram();
/** The program from the user's side. */
export const SOURCE = join(import.meta.dirname, "../../src/main.ts");

/** The program as a user starts it: a separate process. */
export interface MooringProcess {
  readonly pid: number;
  /** The shared port; known as soon as it serves. */
  readonly port: () => number;
  readonly grpcPort: () => number;
  /** All of its output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Lines of its log. */
  readonly log: () => Record<string, unknown>[];
  /** Resolves with the first matching line of the log, also an earlier one. */
  readonly logged: (fits: (line: Record<string, unknown>) => boolean) => Promise<object>;
  /** Resolves when it serves; rejects when it ends before. */
  readonly serving: Promise<void>;
  readonly kill: (signal: "SIGTERM" | "SIGINT" | "SIGKILL") => void;
  /** Ends it by SIGTERM, as an operator does: with 0. */
  readonly stop: () => Promise<void>;
  /** Stops reading its output: the reader is gone or stalled. */
  readonly leaveOutput: (how: "gone" | "stalled") => void;
  /** Its end: an exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
}

export interface MooringOptions {
  /** Default: a new one. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Another program than the one that a build makes. */
  readonly program?: string;
}

/** Starts the program on a free port; it is killed at the end of the test at the latest. */
export function runMooring(options: MooringOptions = {}): MooringProcess {
  const { folder = newFolder(), env = {}, args = [], program = PROGRAM } = options;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      ...withoutMooring(process.env),
      MOORING_LISTEN: "127.0.0.1:0",
      MOORING_DATA_DIR: folder,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    for (const check of listeners) check();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const ended = new Promise<number | string>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
  const log = (): Record<string, unknown>[] => jsonLines(stdout);
  const logged: MooringProcess["logged"] = (fits) =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = log().find(fits);
        if (found === undefined) return;
        listeners.delete(check);
        resolve(found);
      };
      listeners.add(check);
      check();
      ended.then((how) => reject(new Error(`it has ended with ${how}: ${stderr}`)));
    });
  const serving = logged(isServing).then(() => undefined);
  // Not every test waits for it.
  serving.catch(() => undefined);
  const portOf = (member: "listen" | "grpc"): number => {
    const line = log().find(isServing);
    return Number(String(line?.[member]).split(":").at(-1));
  };
  return {
    pid: child.pid ?? 0,
    port: () => portOf("listen"),
    grpcPort: () => portOf("grpc"),
    stdout: () => stdout,
    stderr: () => stderr,
    log,
    logged,
    serving,
    kill: (signal) => void child.kill(signal),
    stop: async () => {
      child.kill("SIGTERM");
      const how = await ended;
      if (how !== 0) throw new Error(`it has ended with ${how}: ${stderr}`);
    },
    leaveOutput: (how) => void (how === "gone" ? child.stdout.destroy() : child.stdout.pause()),
    ended,
  };
}

/** Starts the program and waits until it serves. */
export async function startedMooring(options: MooringOptions = {}): Promise<MooringProcess> {
  const mooring = runMooring(options);
  await mooring.serving;
  return mooring;
}

/** A folder of one test, removed when the test ends. */
export async function testFolder(): Promise<string> {
  return newFolder();
}

function newFolder(): string {
  const folder = newDatabaseFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A token of sufficient length. */
export const TOKEN = "process-test-token-0123456789abcdefghijkl";

function isServing({ msg }: Record<string, unknown>): boolean {
  return msg === "serving";
}

function jsonLines(text: string): Record<string, unknown>[] {
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function withoutMooring(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith("MOORING_"));
  return Object.fromEntries(others);
}
