import { type ExecFileException, execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { developmentEnvironment, developmentProgram } from "../../../tools/development.ts";
import { needs } from "../../downloaders/program.ts";
import { quickGo } from "../../go.ts";

// The conformance suite of Connect, gRPC and gRPC-Web (connectrpc/conformance, pinned by go.mod) on
// the transports of the program: HTTP/1.1 and HTTP/2, unary calls and server streams, both codecs,
// gzip, limits of message sizes.

beforeEach(needs("go"));

const folder = fileURLToPath(new URL(".", import.meta.url));
/** A first build compiles a hundred packages. */
const BUILD_TIMEOUT = 20 * 60_000;
const RUN_TIMEOUT = 5 * 60_000;

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs a program in this folder to its end; it is killed at a time limit. */
function run(command: string, args: readonly string[], timeout: number): Promise<Ended> {
  const env = { ...developmentEnvironment(), ...quickGo };
  const bounds = { timeout, killSignal: "SIGTERM", maxBuffer: 64 * 2 ** 20 } as const;
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { cwd: folder, env, ...bounds },
      (error: ExecFileException | null, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
        resolve({ code, output: `${stdout}${stderr}${error?.killed ? "\n(killed)" : ""}` });
      },
    );
  });
}

async function succeed(command: string, ...args: readonly string[]): Promise<string> {
  const { code, output } = await run(command, args, BUILD_TIMEOUT);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}:\n${output}`);
  return output.trim();
}

test("every case of the suite passes", { timeout: BUILD_TIMEOUT + RUN_TIMEOUT }, async () => {
  const runner = "connectrpc.com/conformance/cmd/connectconformance";
  await succeed("go", "build", "-o", "build/", runner);
  const module = await succeed("go", "list", "-m", "-f", "{{.Dir}}", "connectrpc.com/conformance");
  await succeed(
    developmentProgram("buf"),
    "generate",
    `${module}/proto`,
    "--template",
    "buf.gen.yaml",
  );
  const { startServers } = await import("./server.ts");
  const servers = await startServers();
  const options = ["--mode", "server", "--conf", "features.yaml", "--max-servers", "2"];
  const launch = [process.execPath, "launch.js", String(servers.port)];
  const ended = await run("build/connectconformance", [...options, "--", ...launch], RUN_TIMEOUT);
  await servers.close();
  const [summary = ended.output] = /\d+ passed, \d+ failed.*/.exec(ended.output) ?? [];
  process.stdout.write(`conformance: ${summary}\n`);
  if (!ended.output.includes(" 0 failed")) process.stdout.write(ended.output);
  expect(ended.output.match(/^FAILED: .*$/gm) ?? []).toEqual([]);
  expect(summary).toBe("1272 passed, 0 failed");
  expect(ended.code).toBe(0);
});
