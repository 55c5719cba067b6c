import {
  execFile,
  execFileSync,
  type SpawnSyncReturns,
  spawn,
  spawnSync,
} from "node:child_process";
import { once } from "node:events";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { developmentProgram } from "../../../tools/development.ts";
import { builtSite } from "../../built-site.ts";
import { temporaryFolder } from "../../temporary.ts";
import { startService, TOKEN } from "../../wire/service.ts";

const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** Time limit of one program in milliseconds: nothing else could end a test that waits for it. */
const LONGEST = 170_000;

let out: string;

beforeAll(async () => {
  await builtSite();
  out = mkdtempSync(join(tmpdir(), "mooring-package-"));
  execFileSync(process.execPath, [join(ROOT, "tools/package.ts"), out], {
    stdio: "pipe",
    timeout: 400_000,
  });
}, 500_000);

afterAll(() => rmSync(out, { recursive: true, force: true }));

interface Installed {
  readonly command: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

function run({ command, env, folder }: Installed, ...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd: folder, env, encoding: "utf8", timeout: LONGEST });
}

/** Serves, reads and saves by its own commands, like the first page of the documentation. */
async function use(installed: Installed): Promise<void> {
  const { command, folder, env } = installed;
  expect(run(installed, "--version").stdout).toBe(`mooring v${version}\n`);
  const args = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];
  const service = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void service.kill("SIGKILL"));
  let errors = "";
  service.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const address = await listening(createInterface(service.stdout), () => errors);
  const [, token = ""] = /token.* ([\w-]{32,})$/m.exec(errors) ?? [];
  const client = {
    ...installed,
    env: { ...env, MOORING_ADDRESS: address, MOORING_TOKEN: token },
  };
  expect(run(client, "set", "site_title=Harbour")).toMatchObject({ status: 0 });
  expect(run(client, "get", "site_title").stdout).toBe("Harbour\n");
  const docs = run(client, "docs", "--print");
  expect(docs.stdout).toBe(`http://${address}/docs/\n`);
  expect(await (await fetch(`${docs.stdout.trim()}driver/s3`)).text()).toContain("<h1");
  const names = await fetch(`http://${address}/api/admin/driver/names`, {
    headers: { authorization: token },
  });
  expect(await names.json()).toMatchObject({ data: expect.arrayContaining(["Local", "S3"]) });
  service.kill("SIGTERM");
  expect(await once(service, "exit")).toEqual([0, null]);
  const database = join(folder, "data/mooring.db");
  expect(run(installed, "token", "show", "--database", database).stdout).toBe(`${token}\n`);
}

async function listening(lines: AsyncIterable<string>, errors: () => string): Promise<string> {
  for await (const line of lines) {
    const { msg, listen } = JSON.parse(line);
    if (msg === "serving") return String(listen);
  }
  throw new Error(`it has ended: ${errors()}`);
}

describe("the folder for Linux x64", () => {
  test("is unpacked and used on an empty system, and through a link", async () => {
    const folder = temporaryFolder();
    const archive = join(out, `mooring-${version}-linux-x64.tar.gz`);
    execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync("../mooring", join(folder, "elsewhere/mooring"));
    // No PATH at all: no program of this machine is found by its name.
    await use({ command: join(folder, "elsewhere/mooring"), env: {}, folder });
  });

  test("is installed and replaces an older one as described", async () => {
    const folder = temporaryFolder();
    const commands = (page: string, first: string): string => {
      const blocks = readFileSync(join(ROOT, page), "utf8").matchAll(/```sh\n([\s\S]*?)```/g);
      const [, block = ""] = [...blocks].find(([, text = ""]) => text.startsWith(first)) ?? [];
      return block
        .replace(/^(?:mooring serve|systemctl restart mooring)\n/m, "")
        .replaceAll("/opt/", `${folder}/opt/`)
        .replaceAll("/usr/local/bin/", `${folder}/`)
        .replaceAll("mooring-0.1.0-linux-x64", join(out, `mooring-${version}-linux-x64`));
    };
    const install = commands("docs/operating.md", "mkdir -p /opt/mooring");
    expect(install).toContain("tar ");
    execFileSync("sh", ["-euc", install]);
    const upgrade = commands("docs/upgrading.md", "mkdir /opt/mooring.new");
    expect(upgrade).toContain("mv ");
    execFileSync("sh", ["-euc", upgrade]);
    await use({ command: join(folder, "mooring"), env: {}, folder });
  });

  test("needs no library except those of every system with glibc", () => {
    const folder = join(out, `mooring-${version}-linux-x64`);
    const { stderr } = spawnSync(join(folder, "mooring"), ["--version"], {
      env: { LD_DEBUG: "libs" },
      encoding: "utf8",
    });
    // Output of the loader (ld.so(8)), for the shell and Node.
    const loaded = new Set(
      [...stderr.matchAll(/calling init: (\S+\.so\S*)/g)].map(([, path = ""]) => path),
    );
    expect([...loaded]).toContain(join(folder, "bin/libatomic.so.1"));
    const others = [...loaded].filter((path) => !path.startsWith(`${folder}/`));
    const known = /\/(?:ld-linux-x86-64|lib(?:c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so[.\d]*$/;
    for (const path of others) expect(path).toMatch(known);
  });

  test("has the licences and a software bill of materials, and no path of the build machine", () => {
    const folder = join(out, `mooring-${version}-linux-x64`);
    const text = (path: string): string => readFileSync(join(folder, path), "utf8");
    expect(text("LICENSES.txt")).toContain("fastify ");
    expect(text("bin/LICENSE")).toContain("Node.js");
    expect(text("lib/node_modules/better-sqlite3/LICENSE")).toContain("Permission is hereby");
    const bill = JSON.parse(text("sbom.cdx.json"));
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: expect.anything() });
    const names = bill.components.map((one: { name: string }) => one.name);
    expect(names).toEqual(expect.arrayContaining(["node", "better-sqlite3", "fastify", "pino"]));
    expect(names).not.toContain("vitest");
    expect(names).not.toContain("rolldown");
    const programs = globSync("lib/src/**/*.{js,cjs}", { cwd: folder });
    expect(programs.length).toBeGreaterThan(5);
    for (const file of programs) expect(text(file), file).not.toContain(ROOT);
  });
});

test("the contract in the folder is complete for a compiler", async () => {
  const proto = join(out, `mooring-${version}-linux-x64`, "proto");
  expect(readFileSync(join(proto, "google/api/annotations.proto"), "utf8")).toContain("http");
  const archive = `${join(out, `mooring-${version}-linux-x64.tar.gz`)}#strip_components=1,subdir=proto`;
  for (const input of [proto, archive]) {
    const built = spawnSync(developmentProgram("buf"), ["build", input, "-o", "/dev/null"], {
      encoding: "utf8",
    });
    expect(built.status, built.stderr).toBe(0);
  }
});

test("protoc generates code from the contract in the folder, as the examples' page describes", (context) => {
  const readme = readFileSync(join(ROOT, "examples/README.md"), "utf8");
  const [command = ""] = /^protoc -I (?:.*\\\n)*.*$/m.exec(readme) ?? [];
  const protoc = "python3 -m grpc_tools.protoc";
  const { status } = spawnSync("sh", ["-c", `${protoc} --version`]);
  if (status !== 0 && process.env["MOORING_TEST_REQUIRE_PROGRAMS"] === undefined)
    context.skip("Python's grpcio-tools is not installed (test/requirements.txt)");
  const folder = temporaryFolder();
  const script = command
    .replace("protoc", protoc)
    .replaceAll("mooring-0.1.0-linux-x64", join(out, `mooring-${version}-linux-x64`));
  const made = spawnSync("sh", ["-euc", script], { cwd: folder, encoding: "utf8" });
  expect(made.status, made.stderr).toBe(0);
  expect(globSync("mooring/v1/*_pb2.py", { cwd: folder }).length).toBeGreaterThan(5);
});

describe("the client's package", () => {
  test("is installed into an empty folder, compiles and calls", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const file = join(out, `mooring-client-${version}.tgz`);
    const node = readFileSync(
      join(ROOT, "node_modules/@connectrpc/connect-node/package.json"),
      "utf8",
    );
    const transport = `@connectrpc/connect-node@${JSON.parse(node).version}`;
    const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    const installed = spawnSync("npm", [...args, "--prefix", folder, file, transport], {
      timeout: LONGEST,
      cwd: folder,
      encoding: "utf8",
    });
    expect(installed.status, installed.stderr).toBe(0);
    // All of its modules have what they import; web.js needs the package of another transport.
    const modules = globSync("node_modules/mooring-client/src/**/*.js", { cwd: folder });
    const imports = modules
      .filter((module) => !module.endsWith("/web.js"))
      .map((module) => `await import("./${module}");`);
    const loaded = spawnSync(process.execPath, ["--input-type=module", "-e", imports.join("")], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(loaded.status, loaded.stderr).toBe(0);
    const example = readFileSync(join(ROOT, "examples/node/save.ts"), "utf8");
    writeFileSync(
      join(folder, "example.ts"),
      example
        .replace("../../src/client/mooring.ts", "mooring-client")
        .replace("../../src/client/node.ts", "mooring-client/node"),
    );
    const types = join(ROOT, "node_modules/@types");
    const options = ["--noEmit", "--module", "nodenext", "--target", "es2024", "--skipLibCheck"];
    const checked = spawnSync(
      join(ROOT, "node_modules/.bin/tsc"),
      [...options, "--strict", "--types", "node", "--typeRoots", types, "example.ts"],
      { cwd: folder, encoding: "utf8" },
    );
    expect(checked.status, checked.stdout).toBe(0);
    const service = await startService();
    onTestFinished(service.stop);
    const called = await promisify(execFile)(process.execPath, ["example.ts"], {
      cwd: folder,
      env: { MOORING_URL: `http://127.0.0.1:${service.port}`, MOORING_TOKEN: TOKEN },
    });
    expect(called.stdout).toMatch(/^saved at revision: \d+$/m);
    expect(called.stdout).toMatch(/^refused: settings\[0\]\.value$/m);
  });
});

test("the sizes in docs/operating.md are about the current ones", () => {
  const doc = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
  const documentedSize = (file: string): number =>
    Number(new RegExp(`\\| \`${file}\` \\| (\\d+) MB`).exec(doc)?.[1]);
  const sizeOf = (file: string): number => statSync(join(out, file)).size / 1e6;
  const archive = documentedSize("mooring-VERSION-linux-x64.tar.gz");
  const size = sizeOf(`mooring-${version}-linux-x64.tar.gz`);
  expect(Math.abs(size - archive) / archive, `${size} MB`).toBeLessThan(0.1);
  expect(Math.ceil(sizeOf(`mooring-${version}.tgz`))).toBeLessThanOrEqual(
    documentedSize("mooring-VERSION.tgz") + 1,
  );
});

describe("the npm package", () => {
  test("is installed into an empty folder and used by its command", async () => {
    const folder = temporaryFolder();
    const path = [dirname(process.execPath), "/usr/bin", "/bin"].join(":");
    const env = { PATH: path, HOME: process.env["HOME"] ?? folder };
    const npm = join(dirname(process.execPath), "npm");
    const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    const file = join(out, `mooring-${version}.tgz`);
    const installed = spawnSync(npmCommand(npm), [...args, "--prefix", folder, file], {
      timeout: LONGEST,
      cwd: folder,
      env: { ...process.env },
      encoding: "utf8",
    });
    expect(installed.status, installed.stderr).toBe(0);
    await use({ command: join(folder, "node_modules/.bin/mooring"), env, folder });
  });
});

/** The npm beside this Node, or the machine's. */
function npmCommand(beside: string): string {
  return spawnSync(beside, ["--version"]).error === undefined ? beside : "npm";
}
