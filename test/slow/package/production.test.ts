import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { isRunning, killTree, processTree } from "../../../bench/proc.ts";
import { temporaryFolder } from "../../temporary.ts";

const ROOT = join(import.meta.dirname, "../../..");
const SOURCES = [
  "package.json",
  "tsconfig.json",
  "package-lock.json",
  ".npmrc",
  "src",
  "gen",
  "tools",
  "docs",
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "SECURITY.zh-CN.md",
];

/** Limit of an installation, in bytes. */
const MOST = 450e6;

test("npm ci needs less than 450 MB; built and pruned, npm start serves on any Node of the machine", async () => {
  const folder = temporaryFolder();
  for (const path of SOURCES) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  rmSync(join(folder, "tools/development/node_modules"), { recursive: true, force: true });
  // Without additions of this repository's scripts: its own Node and tools.
  const path = (process.env["PATH"] ?? "").split(":").filter((one) => !one.includes(ROOT));
  const env = { PATH: path.join(":"), HOME: process.env["HOME"] ?? folder };
  const npm = (...args: readonly string[]): void => {
    execFileSync("npm", args, { cwd: folder, env, stdio: "pipe", timeout: 240_000 });
  };
  npm("ci", "--prefer-offline", "--no-audit", "--no-fund");
  const counted = execFileSync("du", ["-s", "--block-size=1", "node_modules"], { cwd: folder });
  expect(Number.parseInt(counted.toString(), 10)).toBeLessThan(MOST);
  npm("run", "build");
  npm("prune", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund");
  expect(existsSync(join(folder, "node_modules/rolldown"))).toBe(false);
  const service = spawn("npm", ["start", "--", "--listen=127.0.0.1:0", "--log-format=json"], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let members: readonly number[] = [];
  onTestFinished(() => {
    killTree(service.pid ?? 0);
    // Without npm in between they are ended here.
    for (const member of members) if (isRunning(member)) process.kill(member, "SIGKILL");
  });
  let address = "";
  for await (const line of createInterface(service.stdout)) {
    const { msg, listen } = line.startsWith("{") ? JSON.parse(line) : {};
    if (msg !== "serving") continue;
    address = listen;
    break;
  }
  const settings = await fetch(`http://${address}/api/public/settings`);
  expect(await settings.json()).toMatchObject({ code: 200 });
  for (const page of ["", "containers", "zh-CN/driver/s3"])
    expect((await fetch(`http://${address}/docs/${page}`)).status, page).toBe(200);
  members = processTree(service.pid ?? 0);
  // npm and its children are one process group.
  process.kill(-(service.pid ?? 0), "SIGTERM");
  await expect.poll(() => members.filter(isRunning)).toEqual([]);
}, 300_000);
