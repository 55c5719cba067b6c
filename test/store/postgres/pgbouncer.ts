import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../../../bench/port.ts";
import type { TestServer } from "./server.ts";

const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Starts pgbouncer in transaction mode in front of a database of a server. */
export async function startPgbouncer(
  server: TestServer,
  database: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-pgbouncer-"));
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(join(folder, "users.txt"), '"mooring" ""\n');
  writeFileSync(
    file,
    `[databases]
${database} = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = 3
`,
  );
  chmodSync(folder, 0o755);
  if ("uid" in user) chownSync(folder, NOBODY, NOBODY);
  const child: ChildProcess = spawn("pgbouncer", [file], { ...user, cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `postgres://mooring@127.0.0.1:${port}/${database}`;
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    const answers = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (answers) return { url, stop };
    await sleep(50);
  }
  await stop();
  throw new Error("pgbouncer does not answer");
}
