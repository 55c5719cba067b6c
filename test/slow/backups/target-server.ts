import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createS3Target } from "../../../src/backups/target/s3.ts";
import type { BackupTarget } from "../../../src/backups/target/target.ts";
import { createWebdavTarget } from "../../../src/backups/target/webdav.ts";
import { freePort } from "../../downloaders/program.ts";
import { quickGo } from "../../go.ts";

const GATEWAY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const GATEWAY_PROGRAM = join(tmpdir(), "mooring-versitygw-v1.8.0");
const run = promisify(execFile);

export const SECRET = "secret-of-the-target-1f";

/** A running server with a target in it. */
export interface TargetServer {
  readonly target: BackupTarget;
  /** The same place with a wrong secret. */
  readonly refused: BackupTarget;
  /** Names of all files of the server below a folder. */
  files(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** A server with the S3 protocol on a folder, built from the Go proxy. */
export async function startS3(): Promise<TargetServer> {
  if (!existsSync(GATEWAY_PROGRAM)) {
    const folder = await mkdtemp(join(tmpdir(), "mooring-versitygw-"));
    const env = { ...process.env, ...quickGo, GOBIN: folder };
    await run("go", ["install", GATEWAY], { env, maxBuffer: 64 * 2 ** 20 });
    await rename(join(folder, "versitygw"), GATEWAY_PROGRAM);
    await rm(folder, { recursive: true });
  }
  const { folder, port } = await newPlace();
  await mkdir(join(folder, "backups"));
  const args = ["--port", `127.0.0.1:${port}`, "posix", folder];
  const env = { ...process.env, ROOT_ACCESS_KEY: "mooring", ROOT_SECRET_KEY: SECRET };
  const server = spawn(GATEWAY_PROGRAM, args, { env, stdio: "ignore" });
  await answering(port);
  const open = (secretAccessKey: string) =>
    createS3Target({
      bucket: "backups",
      prefix: "of mooring/a",
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      accessKeyId: "mooring",
      secretAccessKey,
    });
  return {
    target: open(SECRET),
    refused: open("another-secret"),
    files: () => readdir(join(folder, "backups", "of mooring", "a")),
    stop: () => stopped(server, folder),
  };
}

/** `rclone serve webdav` on a folder. */
export async function startWebdav(): Promise<TargetServer> {
  const { folder, port } = await newPlace();
  const args = ["serve", "webdav", "--addr", `127.0.0.1:${port}`, "--user", "mooring"];
  const server = spawn("rclone", [...args, "--pass", SECRET, folder], { stdio: "ignore" });
  await answering(port);
  const open = (password: string) =>
    createWebdavTarget({
      url: `http://127.0.0.1:${port}/of%20mooring/`,
      user: "mooring",
      password,
    });
  return {
    target: open(SECRET),
    refused: open("another-secret"),
    files: () => readdir(join(folder, "of mooring")),
    stop: () => stopped(server, folder),
  };
}

async function newPlace(): Promise<{ readonly folder: string; readonly port: number }> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-target-"));
  return { folder, port: await freePort() };
}

/** Waits until the server answers anything. */
async function answering(port: number): Promise<void> {
  for (;;) {
    const reply = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await reply?.body?.cancel();
    if (reply !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stopped(server: ChildProcess, folder: string): Promise<void> {
  const ended = once(server, "exit");
  server.kill("SIGKILL");
  await ended;
  await rm(folder, { recursive: true, force: true });
}
