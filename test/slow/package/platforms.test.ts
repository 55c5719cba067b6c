import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { debianFiles } from "../../../tools/package/debian.ts";
import { builtSite } from "../../built-site.ts";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";
import { expectEveryTransport, TOKEN } from "./every-transport.ts";

// The archives of all platforms, built on this one. Only that for linux-arm64 is started here, besides
// that for linux-x64 (installed.test.ts).

const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** Of other systems: Node's file, compiled code of better-sqlite3, launcher, and their first bytes. */
const OTHERS = [
  ["linux-arm64", "bin/node", "linux-arm64.node", "mooring", "7f454c46"],
  ["darwin-arm64", "bin/node", "darwin-arm64.node", "mooring", "cffaedfe"],
  ["win-x64", "bin/node.exe", "win32-x64.node", "mooring.cmd", "4d5a"],
] as const;

/** Limits of an archive and of its content, in bytes. */
const MAX_PACKED = 60e6;
const MAX_CONTENT = 180e6;

let out: string;
const folderOf = (platform: string): string => join(out, `mooring-${version}-${platform}`);

beforeEach(needs("dpkg-deb", "zip", "unzip", "qemu-aarch64-static"));

beforeAll(async () => {
  if (spawnSync("zip", ["--version"]).error !== undefined) return;
  await builtSite();
  out = mkdtempSync(join(tmpdir(), "mooring-platforms-"));
  const names = OTHERS.flatMap(([name]) => ["--platform", name]);
  execFileSync(process.execPath, [join(ROOT, "tools/package.ts"), out, ...names], {
    stdio: "pipe",
    timeout: 400_000,
  });
}, 500_000);

afterAll(() => {
  if (out !== undefined) rmSync(out, { recursive: true, force: true });
});

describe.each(OTHERS)("the folder for %s", (platform, node, addon, launcher, magic) => {
  test("has Node, one compiled better-sqlite3 and a launcher of that system", () => {
    const folder = folderOf(platform);
    for (const file of [node, `lib/node_modules/better-sqlite3/prebuilds/${addon}`])
      expect(readFileSync(join(folder, file)).toString("hex", 0, 4), file).toMatch(
        new RegExp(`^${magic}`),
      );
    expect(globSync("**/*.node", { cwd: folder })).toHaveLength(1);
    expect(readFileSync(join(folder, launcher), "utf8")).toContain("main.js");
  });

  test("has licences and a bill of materials, and nothing that only developers need", () => {
    const folder = folderOf(platform);
    const text = (path: string): string => readFileSync(join(folder, path), "utf8");
    expect(text("LICENSES.txt")).toContain("fastify ");
    expect(text("bin/LICENSE")).toContain("Node.js");
    const { components } = JSON.parse(text("sbom.cdx.json"));
    const names = components.map((one: { name: string }) => one.name);
    expect(names).toEqual(expect.arrayContaining(["node", "better-sqlite3", "fastify"]));
    const files = globSync("lib/**", { cwd: folder });
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => /\.(?:map|tsx?|[ch]pp|gyp)$/.test(file))).toEqual([]);
    const size = globSync("**", { cwd: folder })
      .map((file) => statSync(join(folder, file)))
      .reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0);
    expect(size).toBeLessThan(MAX_CONTENT);
  });

  test("is the content of one small file", () => {
    const unpacked = temporaryFolder();
    const name = `mooring-${version}-${platform}`;
    const archive = join(out, `${name}${platform.startsWith("win-") ? ".zip" : ".tar.gz"}`);
    expect(statSync(archive).size).toBeLessThan(MAX_PACKED);
    if (archive.endsWith(".zip")) execFileSync("unzip", ["-q", archive, "-d", unpacked]);
    else execFileSync("tar", ["-xzf", archive, "-C", unpacked]);
    const differences = spawnSync("diff", ["-rq", join(unpacked, name), join(out, name)]);
    expect(differences.stdout.toString()).toBe("");
  });
});

test("the archive for linux-arm64 serves every transport, saves and restarts, on an emulated processor", async () => {
  const folder = folderOf("linux-arm64");
  const cwd = temporaryFolder();
  const system = debianFiles("arm64", ["libc6", "libstdc++6", "libgcc-s1"]);
  await expectEveryTransport((port) => ({
    command: [
      "qemu-aarch64-static",
      "-L",
      system,
      "-E",
      `LD_LIBRARY_PATH=${join(folder, "bin")}`,
      join(folder, "bin/node"),
      join(folder, "lib/src/main.js"),
      "serve",
    ],
    env: {
      MOORING_LISTEN: `127.0.0.1:${port}`,
      MOORING_LOG_FORMAT: "json",
      MOORING_ADMIN_TOKEN: TOKEN,
    },
    cwd,
  }));
}, 300_000);
