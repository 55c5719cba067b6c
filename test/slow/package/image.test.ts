import { execFileSync, spawnSync } from "node:child_process";
import {
  chownSync,
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { builtSite } from "../../built-site.ts";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";
import { expectEveryTransport, type Launch, TOKEN } from "./every-transport.ts";

// The container image: read by tools that are not ours (skopeo, umoci), and run from its unpacked
// files as its own user, with a read-only root. chroot needs root and no cgroups, which a container
// of a CI system seldom has.

const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const USER = 65_532;
/** Limits of one architecture: its layers, and its files, in bytes. */
const MAX_PACKED = 60e6;
const MAX_CONTENT = 170e6;

let out: string;
let archive: string;

beforeEach(needs("skopeo", "umoci", "qemu-aarch64-static"));
beforeEach((context) => context.skip(process.getuid?.() !== 0, "chroot needs root"));

beforeAll(async () => {
  if (spawnSync("umoci", ["--version"]).error !== undefined) return;
  await builtSite();
  out = mkdtempSync(join(tmpdir(), "mooring-image-"));
  execFileSync(process.execPath, [join(ROOT, "tools/image.ts"), out], {
    stdio: "pipe",
    timeout: 400_000,
  });
  archive = join(out, `mooring-${version}-oci.tar`);
  mkdirSync(join(out, "layout"));
  execFileSync("tar", ["-xf", archive, "-C", join(out, "layout")]);
}, 500_000);

afterAll(() => {
  if (out !== undefined) rmSync(out, { recursive: true, force: true });
});

function inspect(...args: readonly string[]) {
  return JSON.parse(execFileSync("skopeo", ["inspect", ...args], { encoding: "utf8" }));
}

describe.each(["amd64", "arm64"])("the image for %s", (architecture) => {
  test("is found in the index by its platform, and by Docker's list", () => {
    const place = `oci-archive:${archive}:${version}`;
    const config = inspect("--override-arch", architecture, "--config", place);
    expect(config).toMatchObject({ architecture, os: "linux" });
    const listed = inspect(
      "--config",
      `docker-archive:${archive}:mooring:${version}-${architecture}`,
    );
    expect(listed).toEqual(config);
  });

  test("has an unprivileged user, one volume, a probe and labels", () => {
    const place = `oci-archive:${archive}:${version}`;
    const { config } = inspect("--override-arch", architecture, "--config", "--raw", place);
    expect(config).toMatchObject({
      User: `${USER}:${USER}`,
      Volumes: { "/data": {} },
      Entrypoint: ["/usr/local/bin/mooring"],
      Cmd: ["serve"],
      Healthcheck: { Test: ["CMD", "/usr/local/bin/mooring", "health"] },
      Labels: { "org.opencontainers.image.version": version },
    });
  });

  test("is small", () => {
    const place = `oci-archive:${archive}:${version}-${architecture}`;
    const { layers } = inspect("--raw", place);
    const packed = layers.reduce((sum: number, { size }: { size: number }) => sum + size, 0);
    expect(packed).toBeLessThan(MAX_PACKED);
    const files = globSync("**", { cwd: unpack(architecture) });
    const content = files.reduce((sum, file) => {
      const each = lstatSync(join(rootOf(architecture), file));
      return sum + (each.isFile() ? each.size : 0);
    }, 0);
    expect(content).toBeLessThan(MAX_CONTENT);
  });

  test("gives its user nothing to write but /data", () => {
    const root = unpack(architecture);
    const own = globSync("**", { cwd: root }).filter((file) => {
      const { uid, mode } = statSync(join(root, file));
      return uid === USER || ((mode & 0o002) !== 0 && file !== "tmp");
    });
    expect(own).toEqual(["data"]);
  });
});

test("the image for amd64 serves every transport and its probe as its user with a read-only root", async () => {
  const mooring = "/usr/local/bin/mooring";
  await expectEveryTransport(
    launchIn("amd64", mooring, "serve"),
    launchIn("amd64", mooring, "health"),
  );
}, 120_000);

test("the image for arm64 serves every transport on an emulated processor", async () => {
  copyFileSync("/usr/bin/qemu-aarch64-static", join(unpack("arm64"), "usr/local/bin/qemu"));
  const node = ["/opt/mooring/bin/node", "/opt/mooring/lib/src/main.js"];
  await expectEveryTransport(launchIn("arm64", "/usr/local/bin/qemu", ...node, "serve"));
}, 300_000);

const rootOf = (architecture: string): string => join(out, architecture, "rootfs");

/** Unpacks the image once. @returns the folder of its files. */
function unpack(architecture: string): string {
  const image = `${join(out, "layout")}:${version}-${architecture}`;
  const folder = join(out, architecture);
  if (!statSync(folder, { throwIfNoEntry: false }))
    execFileSync("umoci", ["unpack", "--image", image, folder], { stdio: "pipe" });
  return rootOf(architecture);
}

/** Starts a program of the image: its environment, its user, its files read-only, a new /data. */
function launchIn(architecture: string, ...command: readonly string[]): (port: number) => Launch {
  const root = unpack(architecture);
  const { process: image } = JSON.parse(readFileSync(join(root, "../config.json"), "utf8"));
  const folder = temporaryFolder();
  const data = join(folder, "data");
  mkdirSync(data);
  chownSync(data, USER, USER);
  const script = join(folder, "enter.sh");
  writeFileSync(script, ENTER);
  return (port) => ({
    command: ["unshare", "--mount", "sh", script, root, data, ...command],
    env: {
      ...Object.fromEntries(image.env.map((one: string) => one.split(/=(.*)/s).slice(0, 2))),
      PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      MOORING_LISTEN: `127.0.0.1:${port}`,
      MOORING_ADMIN_TOKEN: TOKEN,
    },
    cwd: folder,
  });
}

const ENTER = `set -e
root=$1 data=$2
shift 2
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec chroot --userspec=${USER}:${USER} "$root" "$@"
`;
