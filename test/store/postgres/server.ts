import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { freePort, needs } from "../../downloaders/program.ts";
import { oncePerRun } from "../../once.ts";

/** The newest PostgreSQL of Debian's packages, or one on the PATH. */
const BIN = globSync("/usr/lib/postgresql/*/bin").sort().at(-1);

/** Its programs, for `needs`. */
export const postgresProgram = (name: string): string =>
  BIN === undefined ? name : join(BIN, name);

/** Whether there is one. */
export const hasPostgres = spawnSync(postgresProgram("postgres"), ["--version"]).status === 0;

/** A user without rights; PostgreSQL does not run as root. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** A server of a test's own. */
export interface TestServer {
  readonly port: number;
  /** The URL of one of its databases. */
  url(database?: string): string;
  /** Makes an empty database and gives its URL. */
  newDatabase(): Promise<string>;
  /** Runs statements as its owner. */
  query(statement: string, database?: string): Promise<Record<string, unknown>[]>;
  /** SIGKILL ends it and all its processes at once, as a crash does; SIGINT closes all connections. */
  kill(signal: "SIGKILL" | "SIGINT"): Promise<void>;
  /** Halts it and all its processes, and lets them go on. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** A standby of it that follows it. */
  standby(): Promise<TestServer>;
  /** Makes a standby a primary. */
  promote(): Promise<void>;
  /** What its clients see when a standby takes its place under its address. */
  promoteInPlace(): Promise<void>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

/** How a server differs from that of most tests. */
export interface ServerOptions {
  /** Each commit reaches the disk, as where power may be cut. Tests cut none. */
  readonly isDurable?: boolean;
  /** Further settings, as `NAME=VALUE`. */
  readonly settings?: readonly string[];
}

/** A server for all tests of a file, which are skipped where none is installed. */
export function serverOfFile(): () => TestServer {
  const isThere = needs(postgresProgram("postgres"));
  let server: TestServer | undefined;
  beforeEach((context) => isThere(context));
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres();
  });
  afterAll(() => server?.remove());
  return () => {
    if (server === undefined) throw new Error("no server is installed");
    return server;
  };
}

/** Starts a new server in a temporary folder, as a user without rights. */
export async function startPostgres({
  isDurable = false,
  settings = [],
}: ServerOptions = {}): Promise<TestServer> {
  const initialised = await oncePerRun("postgres", (path) => {
    mkdirSync(path);
    if ("uid" in user) chownSync(path, NOBODY, NOBODY);
    run("initdb", ["-D", path, "-U", "mooring", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]);
  });
  const folder = newFolder();
  // Node's own copying does not keep whose a file is.
  execFileSync("cp", ["-a", initialised, join(folder, "data")]);
  const common = isDurable ? [LOOPBACK] : SETTINGS;
  return serverOn(folder, await freePort(), [...common, ...settings]);
}

/** A folder of the server's user. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-postgres-"));
  if ("uid" in user) chownSync(folder, NOBODY, NOBODY);
  return folder;
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(postgresProgram(program), args, {
    ...user,
    cwd: tmpdir(),
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" },
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr || String(error)}`);
}

function childrenOf(parent: number): number[] {
  return globSync("/proc/[0-9]*/stat").flatMap((file) => {
    try {
      const [, ppid] = /\) \S (\d+)/.exec(readFileSync(file, "utf8")) ?? [];
      return Number(ppid) === parent ? [Number(file.split("/")[2])] : [];
    } catch {
      return [];
    }
  });
}

const LOOPBACK = "listen_addresses=127.0.0.1";
/** No power is cut here: what a killed server has written is on the disk all the same. */
const SETTINGS = [LOOPBACK, "fsync=off", "full_page_writes=off"];

async function serverOn(
  folder: string,
  port: number,
  settings: readonly string[] = SETTINGS,
): Promise<TestServer> {
  const data = join(folder, "data");
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let databases = 0;
  const url = (database = "postgres") => `postgres://mooring@127.0.0.1:${port}/${database}`;
  const query: TestServer["query"] = async (statement, database) => {
    const client = new pg.Client({ connectionString: url(database) });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  };
  const start = async (): Promise<void> => {
    child = spawn(
      postgresProgram("postgres"),
      ["-D", data, "-p", String(port), "-k", folder, ...settings.flatMap((one) => ["-c", one])],
      { ...user, cwd: folder, stdio: "ignore" },
    );
    const started = child;
    ended = new Promise((resolve) => started.once("exit", resolve));
    for (let attempt = 0; attempt < 400; attempt += 1) {
      if (started.exitCode !== null) throw new Error(`postgres ended with ${started.exitCode}`);
      const answers = await query("select 1").then(
        () => true,
        () => false,
      );
      if (answers) return;
      await sleep(50);
    }
    throw new Error("postgres does not answer");
  };
  /** To every process of the server. */
  const signal = (name: NodeJS.Signals): void => {
    const pid = child?.pid;
    if (pid === undefined || child?.exitCode !== null || child.signalCode !== null) return;
    // One that it starts meanwhile would be missed.
    if (name !== "SIGCONT") process.kill(pid, "SIGSTOP");
    for (const each of [pid, ...childrenOf(pid)])
      try {
        process.kill(each, name);
      } catch {
        // It has ended by itself.
      }
  };
  const atExit = (): void => signal("SIGKILL");
  process.once("exit", atExit);
  const server: TestServer = {
    port,
    url,
    query,
    start,
    newDatabase: async () => {
      databases += 1;
      const name = `test${databases}`;
      await query(`create database ${name}`);
      return url(name);
    },
    kill: async (name) => {
      if (name === "SIGKILL") signal(name);
      else child?.kill(name);
      await ended;
    },
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    standby: async () => {
      const copy = newFolder();
      const target = join(copy, "data");
      run("pg_basebackup", ["-d", url(), "-D", target, "-R", "-X", "stream", "-c", "fast"]);
      return serverOn(copy, await freePort());
    },
    promote: async () => {
      await query("select pg_promote(true, 30)");
    },
    promoteInPlace: async () => {
      await server.kill("SIGINT");
      writeFileSync(join(data, "standby.signal"), "");
      if ("uid" in user) chownSync(join(data, "standby.signal"), NOBODY, NOBODY);
      await start();
      await server.promote();
    },
    remove: async () => {
      signal("SIGCONT");
      signal("SIGKILL");
      await ended;
      process.off("exit", atExit);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await start();
    return server;
  } catch (error) {
    await server.remove();
    throw error;
  }
}
