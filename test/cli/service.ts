import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { builtProgram } from "../built.ts";
import { type Ended, type Given, run } from "./world.ts";

/** The program's own file. */
export const PROGRAM = await builtProgram();

export const TOKEN = "token-of-the-tests-0123456789abcdef";

/** A real service in a process of its own, on a database of its own. */
export interface Service {
  readonly address: string;
  /** Holds the database and whatever a test puts there. */
  readonly folder: string;
  /** The database's file. */
  readonly database: string;
  /** What a command needs to know of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command against it, in this process. */
  readonly cli: (args: readonly string[], given?: Given) => Promise<Ended>;
  /** Ends the service; the folder stays. */
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Ends the service and removes its folder. */
  remove(): Promise<void>;
}

/** Starts a service on a free port. */
export async function startService(env: Record<string, string> = {}): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-cli-"));
  const open = (listen: string) => startProgram({ ...env, MOORING_LISTEN: listen }, folder);
  let { child, address } = await open("127.0.0.1:0");
  const stop = () => end(child);
  const clientEnv = { MOORING_ADDRESS: address, MOORING_TOKEN: TOKEN };
  return {
    address,
    folder,
    database: join(folder, "mooring.db"),
    env: clientEnv,
    cli: (args, given = {}) =>
      run(args, { cwd: folder, ...given, env: { ...clientEnv, ...given.env } }),
    stop,
    start: async () => {
      ({ child, address } = await open(address));
    },
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startProgram(env: Record<string, string>, folder: string) {
  const child = spawn(process.execPath, [PROGRAM, "serve"], {
    cwd: folder,
    env: {
      MOORING_DATA_DIR: folder,
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_SHUTDOWN_GRACE: "1s",
      MOORING_LOG_FORMAT: "json",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  for await (const line of createInterface(child.stdout)) {
    const { msg, listen } = JSON.parse(line);
    if (msg !== "serving") continue;
    child.stdout.resume();
    return { child, address: String(listen) };
  }
  throw new Error("the service did not start");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
