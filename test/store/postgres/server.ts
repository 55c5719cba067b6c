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
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { needs } from "../../downloaders/program.ts";
import { oncePerRun } from "../../once.ts";

/** The newest PostgreSQL of Debian's packages, or one on the PATH. */
const BIN = globSync("/usr/lib/postgresql/*/bin").sort().at(-1);

/** Its programs, for `needs`. */
export const postgresProgram = (name: string): string =>
  BIN === undefined ? name : join(BIN, name);

/** Whether it is installed. */
export const hasPostgres = spawnSync(postgresProgram("postgres"), ["--version"]).status === 0;

/** An unprivileged user; PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** A server of one test. */
export interface TestServer {
  readonly port: number;
  /** The URL of one of its databases. */
  url(database?: string): string;
  /** Creates an empty database and returns its URL. */
  newDatabase(): Promise<string>;
  /** Runs statements as its owner. */
  query(statement: string, database?: string): Promise<Record<string, unknown>[]>;
  /** SIGKILL ends it and all its processes at once, like a crash; SIGINT closes all connections. */
  kill(signal: "SIGKILL" | "SIGINT"): Promise<void>;
  /** Stops it and all its processes with SIGSTOP; SIGCONT continues them. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** A standby that follows it. */
  standby(): Promise<TestServer>;
  /** Promotes a standby to a primary. */
  promote(): Promise<void>;
  /** Failover as its clients see it: a standby takes over its address. */
  promoteInPlace(): Promise<void>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

/** Options of a server, beyond those of most tests. */
export interface ServerOptions {
  /** Each commit is flushed to the disk, as for a power cut, which most tests do not need. */
  readonly isDurable?: boolean;
  /** Further settings, as `NAME=VALUE`. */
  readonly settings?: readonly string[];
}

/** A server for all tests of a file, which are skipped if none is installed. */
export function serverOfFile(): () => TestServer {
  const isInstalled = needs(postgresProgram("postgres"));
  let server: TestServer | undefined;
  beforeEach((context) => isInstalled(context));
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres();
  });
  afterAll(() => server?.remove());
  return () => {
    if (server === undefined) throw new Error("no server is installed");
    return server;
  };
}

/** Starts a new server in a temporary folder, as an unprivileged user. */
export async function startPostgres({
  isDurable = false,
  settings = [],
}: ServerOptions = {}): Promise<TestServer> {
  const initialised = await oncePerRun("postgres", (path) => {
    mkdirSync(path);
    if ("uid" in user) chownSync(path, NOBODY, NOBODY);
    run("initdb", ["-D", path, "-U", "mooring", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]);
  });
  const common = isDurable ? [LOOPBACK] : SETTINGS;
  const start = async () => {
    const folder = newFolder();
    // Node's copy functions do not preserve the owner.
    execFileSync("cp", ["-a", initialised, join(folder, "data")]);
    return serverOn(folder, await freePort(), [...common, ...settings]);
  };
  // Another process may take the port before the server does.
  return start().catch((error: unknown) => {
    if (!String(error).includes("Address already in use")) throw error;
    return start();
  });
}

/** A folder of the server's user. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-postgres-"));
  if ("uid" in user) chownSync(folder, NOBODY, NOBODY);
  return folder;
}

/** Lets the server's user read a folder and its files, and no other user. */
export function giveToServer(folder: string): void {
  for (const file of [folder, ...globSync(`${folder}/*`)])
    if ("uid" in user) chownSync(file, NOBODY, NOBODY);
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
/** No power cut here: the writes of a killed server are on the disk. */
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
      { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    );
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-2_000);
    });
    const started = child;
    ended = new Promise((resolve) => started.once("exit", resolve));
    for (let attempt = 0; attempt < 400; attempt += 1) {
      if (started.exitCode !== null)
        throw new Error(`postgres ended with ${started.exitCode}: ${said}`);
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
    // A process that it starts in between would be missed.
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

/** A server of one test. */
export async function postgresOfTest(
  ...options: Parameters<typeof startPostgres>
): Promise<TestServer> {
  const server = await startPostgres(...options);
  onTestFinished(() => server.remove());
  return server;
}

/** A server of one test and its standby. */
export async function standbyOfTest(...options: Parameters<typeof startPostgres>) {
  const primary = await postgresOfTest(...options);
  const standby = await primary.standby();
  onTestFinished(() => standby.remove());
  return { primary, standby };
}
