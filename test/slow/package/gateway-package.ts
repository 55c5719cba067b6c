import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";

export const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** Time limit of one program, in milliseconds. */
export const LONGEST = 170_000;
/** Time limit of preparing tests: a build, and packages of a registry. */
export const PREPARING = 400_000;

/** Packages with exact versions, such as those of the example. */
export type Packages = Readonly<Record<string, string>>;

const example = JSON.parse(readFileSync(join(ROOT, "examples/gateway/package.json"), "utf8"));
/** The versions of the example, which are those that Mooring itself uses. */
export const VERSIONS: Packages = { ...example.dependencies, ...example.devDependencies };

/** The packed gateway in a new folder, which the caller removes. */
export function packGateway(): { readonly folder: string; readonly archive: string } {
  const folder = mkdtempSync(join(tmpdir(), "mooring-gateway-"));
  const tool = join(ROOT, "tools/package.ts");
  execFileSync(process.execPath, [tool, folder, "--only", "gateway"], { timeout: LONGEST });
  return { folder, archive: join(folder, `mooring-gateway-${version}.tgz`) };
}

/** Runs a program in a folder; its output on standard error is in the error if it fails. */
export function run(place: string, command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    cwd: place,
    timeout: LONGEST,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A folder with the packed gateway and packages in exact versions. */
export function install(place: string, archive: string, packages: Packages, type = "module"): void {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ private: true, type }));
  const named = Object.entries(packages).map(([name, wanted]) => `${name}@${wanted}`);
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  run(place, "npm", "install", ...quiet, archive, ...named);
}

/** Adds the example's contract to a folder, and generates its code. */
export function generate(place: string, config?: string): void {
  const from = join(ROOT, "examples/gateway");
  for (const file of ["buf.yaml", "buf.gen.yaml", "proto"])
    cpSync(join(from, file), join(place, file), { recursive: true });
  if (config !== undefined) writeFileSync(join(place, "buf.gen.yaml"), config);
  run(place, "npx", "buf", "generate");
}

/**
 * Starts a server, which prints its address first; it is stopped when the test ends.
 *
 * @returns its URL.
 */
export async function startServer(
  place: string,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  // A process group of its own: Deno's command starts another program.
  const child = spawn(program, args, {
    cwd: place,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PORT: "0" },
  });
  const closed = once(child, "close");
  onTestFinished(async () => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // It has ended already.
    }
    await closed;
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const line = once(createInterface(child.stdout), "line");
  const [first] = await Promise.race([line, closed]);
  if (typeof first !== "string") throw new Error(`${program} has ended: ${errors}`);
  return first;
}

/** Sends a request; with a body it is a POST of JSON. */
export async function send(url: string, body?: object): Promise<[number, unknown]> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const reply = await fetch(url, body === undefined ? {} : init);
  const text = await reply.text();
  try {
    return [reply.status, JSON.parse(text)];
  } catch {
    return [reply.status, text];
  }
}

export const DUNE = { bookId: "dune", title: "Dune", pageCount: 412 };

/** Calls the library of `runtime/routes.mjs` over REST, with a stream, and over Connect. */
export async function expectLibrary(url: string): Promise<void> {
  expect(await send(`${url}/v1/books/dune`)).toEqual([200, DUNE]);
  expect(await send(`${url}/v1/books`, DUNE)).toEqual([200, DUNE]);
  const emma = JSON.stringify({ ...DUNE, bookId: "emma" });
  const [, lines] = await send(`${url}/v1/books:read`);
  expect(lines).toBe(`${JSON.stringify(DUNE)}\n${emma}\n`);
  expect(await send(`${url}/v1/books/none`)).toEqual([404, { code: 5, message: "no book none" }]);
  const [status, error] = await send(`${url}/v1/books`, { ...DUNE, title: "x".repeat(2_000) });
  expect([status, error]).toMatchObject([413, { code: 8 }]);
  expect((await send(`${url}/v1/books`, { pageCount: "many" }))[0]).toBe(400);
  const rpc = `${url}/library.v1.LibraryService/GetBook`;
  expect(await send(rpc, { bookId: "dune" })).toEqual([200, DUNE]);
  const web = await fetch(rpc, {
    method: "POST",
    headers: { "content-type": "application/grpc-web+proto" },
    body: Buffer.concat([Buffer.from([0, 0, 0, 0, 6, 0x0a, 4]), Buffer.from("dune")]),
  });
  expect(await web.text()).toContain("grpc-status: 0");
}

/** Copies programs of this folder to another one. */
export function copyPrograms(place: string, ...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    cpSync(join(import.meta.dirname, "runtime", file), join(place, file));
  }
}
