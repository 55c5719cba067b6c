import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtProgram } from "../../built.ts";
import { startedMooring, TOKEN } from "../../process/mooring.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** Below node_modules, so that external packages are found. */
const PACKAGE = join(ROOT, `node_modules/.cache/mooring-test-${process.pid}`);
const PROGRAM = join(PACKAGE, "src/main.js");

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [PROGRAM, ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...env },
  });
}

function build(...flags: readonly string[]): void {
  const args = [join(ROOT, "tools/build.ts"), PACKAGE, ...flags];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 80_000,
  });
  expect(status, stdout + stderr).toBe(0);
}

describe("the package that a build makes", () => {
  // A separate one: a test changes its age.
  beforeAll(async () => {
    const built = dirname(dirname(await builtProgram()));
    cpSync(built, PACKAGE, { recursive: true, preserveTimestamps: true });
  });

  afterAll(() => rmSync(PACKAGE, { recursive: true, force: true }));

  test("prints its version and its commands", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(run(["--version"]).stdout).toBe(`mooring v${version}\n`);
    expect(run(["--help"]).stdout).toContain("MOORING_LISTEN");
  });

  test("serves every protocol, with its data", async () => {
    const env = { MOORING_ADMIN_TOKEN: TOKEN };
    const mooring = await startedMooring({ program: PROGRAM, env });
    const at = `http://127.0.0.1:${mooring.port()}`;
    const headers = { authorization: TOKEN, "content-type": "application/json" };
    const settings = await fetch(`${at}/api/public/settings`);
    const title = { site_title: expect.any(String) };
    expect(await settings.json()).toMatchObject({ code: 200, data: title });
    const names = await fetch(`${at}/api/admin/driver/names`, { headers });
    expect(await names.json()).toMatchObject({ data: expect.arrayContaining(["Local", "S3"]) });
    // By the library, which supports a time-out.
    const connect = await fetch(`${at}/mooring.v1.PublicService/GetPublicSettings`, {
      method: "POST",
      headers: { ...headers, "connect-timeout-ms": "5000" },
      body: "{}",
    });
    expect(await connect.json()).toMatchObject({ settings: title });
    // The command line uses gRPC.
    const caller = { MOORING_ADDRESS: `127.0.0.1:${mooring.port()}`, MOORING_TOKEN: TOKEN };
    const shown = run(["get", "default_page_size"], caller);
    expect(shown).toMatchObject({ stdout: expect.stringMatching(/^\d+\n$/), status: 0 });
    await mooring.stop();
  });

  test("loads few files: fewer than 30 for the service, and none of the service for the client", async () => {
    const log = join(PACKAGE, "loaded.txt");
    // The first file is loaded by Node, the others are read by it.
    const hook = `import fs from "node:fs";
      import { registerHooks } from "node:module";
      const loads = (place) => fs.appendFileSync(${JSON.stringify(log)}, place + "\\n");
      registerHooks({ load: (url, context, next) => {
        loads(url);
        return next(url, context);
      } });
      const { readFileSync } = fs;
      fs.readFileSync = (place, ...options) => {
        loads(place);
        return readFileSync(place, ...options);
      };`;
    const env = {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
      MOORING_ADMIN_TOKEN: TOKEN,
    };
    const loaded = (): string[] => readFileSync(log, "utf8").match(/[^/\n]+\.c?js$/gm) ?? [];
    const mooring = await startedMooring({ program: PROGRAM, env });
    await fetch(`http://127.0.0.1:${mooring.port()}/api/public/settings`);
    await mooring.stop();
    expect(loaded()).toEqual(expect.arrayContaining([expect.stringMatching(/^service-/)]));
    expect(new Set(loaded()).size).toBeLessThan(30);
    rmSync(log);
    expect(run(["--version"], env).status).toBe(0);
    expect(run(["get", "site_title", "--address", "127.0.0.1:1"], env).status).not.toBe(0);
    expect(loaded()).toContain("main.js");
    expect(loaded()).not.toEqual(expect.arrayContaining([expect.stringMatching(/^service-/)]));
  });

  test("has the licences of its contents", () => {
    const licences = readFileSync(join(PACKAGE, "LICENSES.txt"), "utf8");
    for (const name of [
      "fastify",
      "kysely",
      "pino",
      "pino-pretty",
      "@grpc/grpc-js",
      "@bufbuild/protobuf",
    ])
      expect(licences).toContain(`${name} `);
    expect(existsSync(join(PACKAGE, "package.json"))).toBe(true);
  });

  test("is built again only after a change, if that is requested", () => {
    const madeAt = () => statSync(PROGRAM).mtimeMs;
    const before = madeAt();
    build("--when-changed");
    expect(madeAt()).toBe(before);
    const old = new Date(2020, 1);
    utimesSync(join(PACKAGE, "LICENSES.txt"), old, old);
    build("--when-changed");
    expect(madeAt()).toBeGreaterThan(before);
  });
});
