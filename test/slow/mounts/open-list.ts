import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../bench/port.ts";
import { quickGo } from "../../go.ts";

const MODULE = "github.com/OpenListTeam/OpenList/v4@v4.2.5";
const PROGRAM = join(tmpdir(), "mooring-openlist-v4.2.5");
const run = promisify(execFile);

/** A separate running OpenList. */
export interface OpenList {
  readonly url: string;
  readonly token: string;
  call(method: "GET" | "POST", path: string, body?: unknown): Promise<unknown>;
  /** Ends it at once (SIGKILL) and starts it again. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** Builds OpenList from the Go proxy with its own checksums. @returns the path of the program. */
export async function buildOpenList(): Promise<string> {
  if (existsSync(PROGRAM)) return PROGRAM;
  const folder = await mkdtemp(join(tmpdir(), "mooring-openlist-source-"));
  try {
    const env = { ...process.env, ...quickGo };
    const options = { env, maxBuffer: 64 * 2 ** 20 };
    const { stdout } = await run("go", ["mod", "download", "-json", MODULE], options);
    const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
    const source = join(folder, "source");
    await cp(Dir, source, { recursive: true });
    // The module cache is read only.
    await chmod(source, 0o755);
    for (const entry of await readdir(source)) await chmod(join(source, entry), 0o755);
    await run("go", ["build", "-o", join(folder, "openlist"), "."], { ...options, cwd: source });
    await rename(join(folder, "openlist"), PROGRAM);
    return PROGRAM;
  } finally {
    await run("chmod", ["-R", "u+w", folder]);
    await rm(folder, { recursive: true, force: true });
  }
}

export async function startOpenList(): Promise<OpenList> {
  const program = await buildOpenList();
  const data = await mkdtemp(join(tmpdir(), "mooring-openlist-"));
  await run(program, ["admin", "set", "admin-password", "--data", data]);
  const file = join(data, "config.json");
  const config = JSON.parse(await readFile(file, "utf8")) as {
    scheme: { address: string; http_port: number };
    dist_dir: string;
  };
  const port = await freePort();
  // The module has no pages, and the server needs them to start.
  config.dist_dir = join(data, "pages");
  await mkdir(config.dist_dir);
  await writeFile(join(config.dist_dir, "index.html"), "<!doctype html><title>OpenList</title>");
  Object.assign(config.scheme, { address: "127.0.0.1", http_port: port });
  await writeFile(file, JSON.stringify(config));
  const url = `http://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;
  let token = "";
  const call: OpenList["call"] = async (method, path, body) => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const {
      code,
      message,
      data: found,
    } = (await reply.json()) as {
      code: number;
      message: string;
      data: unknown;
    };
    if (code !== 200) throw new Error(`${path}: ${code} ${message}`);
    return found;
  };
  const start = async (): Promise<void> => {
    server = spawn(program, ["server", "--data", data], { stdio: "ignore" });
    for (let tries = 0; ; tries += 1) {
      const isUp = await fetch(`${url}/api/public/settings`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return;
      if (tries > 600) throw new Error("OpenList does not start");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const end = async (): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  };
  await start();
  const login = await call("POST", "/api/auth/login", {
    username: "admin",
    password: "admin-password",
  });
  token = (login as { readonly token: string }).token;
  const rows = (await call("GET", "/api/admin/setting/list")) as {
    readonly key: string;
    readonly value: string;
  }[];
  token = rows.find(({ key }) => key === "token")?.value ?? "";
  return {
    url,
    token,
    call,
    kill: async () => {
      await end();
      await start();
    },
    close: async () => {
      await end();
      await rm(data, { recursive: true, force: true });
    },
  };
}
