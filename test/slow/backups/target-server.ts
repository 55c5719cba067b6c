import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../bench/port.ts";
import { createS3Target } from "../../../src/backups/target/s3.ts";
import type { BackupTarget } from "../../../src/backups/target/target.ts";
import { createWebdavTarget } from "../../../src/backups/target/webdav.ts";
import type { Certificate } from "../../downloaders/certificate.ts";
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
  /** Options of the target, for another process. */
  readonly options: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Certificate and key of a server, as paths of PEM files. */
type Tls = Pick<Certificate, "certificate" | "privateKey">;

/** A server with the S3 protocol on a folder, built from the Go proxy. */
export async function startS3(tls?: Tls): Promise<TargetServer> {
  if (!existsSync(GATEWAY_PROGRAM)) {
    const folder = await mkdtemp(join(tmpdir(), "mooring-versitygw-"));
    const env = { ...process.env, ...quickGo, GOBIN: folder };
    await run("go", ["install", GATEWAY], { env, maxBuffer: 64 * 2 ** 20 });
    await rename(join(folder, "versitygw"), GATEWAY_PROGRAM);
    await rm(folder, { recursive: true });
  }
  const { folder, port } = await newPlace();
  await mkdir(join(folder, "backups"));
  const keys = tls === undefined ? [] : ["--cert", tls.certificate, "--key", tls.privateKey];
  const args = ["--port", `127.0.0.1:${port}`, ...keys, "posix", folder];
  const env = { ...process.env, ROOT_ACCESS_KEY: "mooring", ROOT_SECRET_KEY: SECRET };
  const server = spawn(GATEWAY_PROGRAM, args, { env, stdio: "ignore" });
  await answering(port);
  const options = {
    bucket: "backups",
    prefix: "of mooring/a",
    endpoint: `${schemeOf(tls)}://127.0.0.1:${port}`,
    region: "us-east-1",
    accessKeyId: "mooring",
    secretAccessKey: SECRET,
  };
  const open = (secretAccessKey: string) => createS3Target({ ...options, secretAccessKey });
  return {
    options,
    target: open(SECRET),
    refused: open("another-secret"),
    files: () => readdir(join(folder, "backups", "of mooring", "a")),
    stop: () => stopped(server, folder),
  };
}

/** `rclone serve webdav` on a folder. */
export async function startWebdav(tls?: Tls): Promise<TargetServer> {
  const { folder, port } = await newPlace();
  const args = ["serve", "webdav", "--addr", `127.0.0.1:${port}`, "--user", "mooring"];
  const keys = tls === undefined ? [] : ["--cert", tls.certificate, "--key", tls.privateKey];
  const all = [...args, "--pass", SECRET, ...keys, folder];
  const server = spawn("rclone", all, { stdio: "ignore" });
  await answering(port);
  const options = {
    url: `${schemeOf(tls)}://127.0.0.1:${port}/of%20mooring/`,
    user: "mooring",
    password: SECRET,
  };
  const open = (password: string) => createWebdavTarget({ ...options, password });
  return {
    options,
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

function schemeOf(tls: Tls | undefined): string {
  return tls === undefined ? "http" : "https";
}

/** Waits until the server accepts connections. */
async function answering(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stopped(server: ChildProcess, folder: string): Promise<void> {
  const ended = once(server, "exit");
  server.kill("SIGKILL");
  await ended;
  await rm(folder, { recursive: true, force: true });
}
