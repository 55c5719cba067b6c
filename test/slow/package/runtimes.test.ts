import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

// `restHandler` of the packed gateway on the runtimes that its page lists.

const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const PACKAGES = ["bun@1.4.5", "deno@2.9.6", "hono@4.13.19", "@hono/node-server@2.1.9"];
/** Time limit of one program, in milliseconds. */
const LONGEST = 170_000;

let place: string;

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "mooring-runtimes-"));
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: place, timeout: LONGEST });
  run(process.execPath, join(ROOT, "tools/package.ts"), place, "--only", "gateway");
  const example = join(ROOT, "examples/gateway");
  for (const file of ["package.json", "buf.yaml", "buf.gen.yaml", "proto"])
    cpSync(join(example, file), join(place, file), { recursive: true });
  cpSync(join(import.meta.dirname, "runtime"), place, { recursive: true });
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  run("npm", "install", ...quiet, `./mooring-gateway-${version}.tgz`, ...PACKAGES);
  // Its npm package needs this step, and is the only one whose script runs.
  run(process.execPath, "node_modules/bun/install.js");
  run("npx", "buf", "generate");
}, 300_000);

afterAll(() => rmSync(place, { recursive: true, force: true }));

/** Command lines that start the server of each runtime; it prints its address. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  Bun: ["node_modules/.bin/bun", "bun.mjs"],
  Deno: [
    "node_modules/.bin/deno",
    "run",
    "--no-remote",
    "--node-modules-dir=manual",
    "--allow-net",
    "--allow-env",
    "deno.mjs",
  ],
  "Hono on Node.js": [process.execPath, "hono.mjs"],
};

describe.each(Object.entries(RUNTIMES))("%s", (_, [program = "", ...args]) => {
  test("serves REST, streams, Connect and errors", async () => {
    // A process group of its own: Deno's command starts another program.
    const child = spawn(program, args, {
      cwd: place,
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const closed = once(child, "close");
    onTestFinished(async () => {
      process.kill(-(child.pid ?? 0), "SIGKILL");
      await closed;
    });
    const [url] = (await once(createInterface(child.stdout), "line")) as [string];
    const send = async (path: string, body?: object): Promise<[number, string]> => {
      const init = { method: "POST", headers: { "content-type": "application/json" } };
      const sent = body === undefined ? {} : { ...init, body: JSON.stringify(body) };
      const reply = await fetch(`${url}${path}`, sent);
      return [reply.status, await reply.text()];
    };
    const dune = { bookId: "dune", title: "Dune", pageCount: 412 };
    const text = JSON.stringify;
    expect(await send("/v1/books/dune")).toEqual([200, text(dune)]);
    expect(await send("/v1/books", dune)).toEqual([200, text(dune)]);
    const emma = text({ ...dune, bookId: "emma" });
    expect(await send("/v1/books:read")).toEqual([200, `${text(dune)}\n${emma}\n`]);
    const [status, error] = await send("/v1/books/none");
    expect([status, JSON.parse(error)]).toEqual([404, { code: 5, message: "no book none" }]);
    const [refused, reason] = await send("/v1/books", { ...dune, title: "x".repeat(2_000) });
    expect([refused, JSON.parse(reason)]).toMatchObject([413, { code: 8 }]);
    expect((await send("/v1/books", { pageCount: "many" }))[0]).toBe(400);
    const connect = await send("/library.v1.LibraryService/GetBook", { bookId: "dune" });
    expect([connect[0], JSON.parse(connect[1])]).toEqual([200, dune]);
  });
});
