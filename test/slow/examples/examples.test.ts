import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { describe, expect, type TestContext, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { quickGo } from "../../go.ts";
import { startedForAll } from "../../started.ts";
import { openSwitch } from "../../store/postgres/switch.ts";
import { startService, TOKEN } from "../../wire/service.ts";

const ROOT = join(import.meta.dirname, "../../..");
const readme = readFileSync(join(ROOT, "examples/README.md"), "utf8");

const service = startedForAll(startService);

/** The commands below a heading of the examples' page: all but the last end by themselves. */
function commandsOf(heading: string): { save: string; watch: string } {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const [, commands = ""] = /```sh\n([\s\S]*?)\n```/.exec(section) ?? [];
  // Packages that .ci/run has installed, in the versions of the tests.
  const lines = commands.replace(/^pip install .*\n/m, "").split("\n");
  const watch = lines.pop() ?? "";
  const exports = lines.filter((line) => line.startsWith("export "));
  return { save: lines.join("\n"), watch: [...exports, watch].join("\n") };
}

function environment(port: number): NodeJS.ProcessEnv {
  const address = `127.0.0.1:${port}`;
  const own = { MOORING_ADDRESS: address, MOORING_URL: `http://${address}`, MOORING_TOKEN: TOKEN };
  return { ...process.env, ...quickGo, ...own };
}

async function saved(heading: string): Promise<string> {
  await setTitle("Before");
  const { stdout } = await promisify(execFile)("bash", ["-euc", commandsOf(heading).save], {
    cwd: ROOT,
    env: environment(service.port),
    timeout: 280_000,
  });
  return stdout;
}

async function setTitle(value: string): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/setting/save`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify([{ key: "site_title", value }]),
  });
  expect(await reply.json()).toMatchObject({ code: 200 });
}

/**
 * The revisions of the title that a watching program prints, with a cut of the stream in between.
 */
async function watched(heading: string, revisionIn: (line: string) => number): Promise<void> {
  const way = await openSwitch(service.port);
  const program = spawn("bash", ["-euc", commandsOf(heading).watch], {
    cwd: ROOT,
    env: environment(way.port),
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const seen: number[] = [];
  createInterface(program.stdout).on("line", (line) => {
    const revision = revisionIn(line);
    if (!Number.isNaN(revision)) seen.push(revision);
  });
  try {
    // Until one is printed it may not have begun.
    let title = 0;
    const first = async (): Promise<number> => {
      await setTitle(`title ${title++}`);
      return seen.length;
    };
    await expect.poll(first, { timeout: 120_000, interval: 500 }).toBeGreaterThan(0);
    way.to(service.port);
    for (const value of ["while it is cut", "and once more"]) await setTitle(value);
    const from = seen[0] ?? 0;
    const newest = await newestRevision();
    await expect.poll(() => seen.at(-1), { timeout: 60_000 }).toBe(newest);
    expect(seen).toEqual(Array.from({ length: newest - from + 1 }, (_, at) => from + at));
  } finally {
    // A process group of its own: children of a shell end with it.
    if (program.exitCode === null) {
      process.kill(-(program.pid ?? 0), "SIGKILL");
      await once(program, "close");
    }
  }
}

async function newestRevision(): Promise<number> {
  const reply = await fetch(
    `http://127.0.0.1:${service.port}/api/admin/setting/revisions?page_size=1`,
    { headers: { authorization: TOKEN } },
  );
  const { data } = (await reply.json()) as { data: { revisions: { revision: string }[] } };
  return Number(data.revisions[0]?.revision);
}

describe("each program is short", () => {
  /** Lines except comments and empty ones; for Go those of `main`. */
  const linesOf = (path: string): number => {
    const text = readFileSync(join(ROOT, "examples", path), "utf8");
    const body = path.endsWith(".go")
      ? (/^func main\(\) \{\n(.*?)^\}/ms.exec(text)?.[1] ?? "")
      : text;
    return body.split("\n").filter((line) => !/^\s*($|\/\/|#|""")/.test(line)).length;
  };

  test.each([
    "curl/save.sh",
    "curl/watch.sh",
    "node/save.ts",
    "node/watch.ts",
    "python/save.py",
    "python/watch.py",
    "browser/page.ts",
    "go/grpc/save/main.go",
    "go/grpc/watch/main.go",
    "go/connect/save/main.go",
    "go/connect/watch/main.go",
  ])("%s", (path) => {
    expect(linesOf(path)).toBeGreaterThan(5);
    expect(linesOf(path)).toBeLessThanOrEqual(23);
  });
});

/** Output of each `save`, and a line of each `watch`. */
const SAVED = /^title: Before\nsaved at revision: \d+\nrefused: settings\[0\]\.value\n$/;
const printed = (line: string): number =>
  Number(/^changed at revision: (\d+) site_title$/.exec(line)?.[1]);

describe.each([
  ["Node.js", () => undefined],
  ["Python (grpcio)", needsPython],
  ["Go (grpc-go)", needs("go", "bash")],
  ["Go (connect-go)", needs("go", "bash")],
])("%s", { timeout: 300_000 }, (heading, check) => {
  test("reads, saves conditionally and reports errors", async (context) => {
    check(context);
    expect(await saved(heading)).toMatch(SAVED);
  });

  test("watches, and continues after a broken stream", async (context) => {
    check(context);
    await watched(heading, printed);
  });
});

describe("curl", { timeout: 120_000 }, () => {
  test("reads, saves conditionally and reports errors", async (context) => {
    needs("curl", "bash")(context);
    const replies = (await saved("curl")).trim().split("\n");
    expect(replies.map((line) => JSON.parse(line))).toMatchObject([
      { code: 200, data: { site_title: "Before" } },
      { code: 200 },
      { code: 400, data: { violations: [{ field: "settings[0].value" }] } },
    ]);
  });

  test("watches, and continues after a broken stream", async (context) => {
    needs("curl", "bash")(context);
    await watched("curl", (line) => {
      const { revision, change } = JSON.parse(line);
      return change === undefined || change === null ? Number.NaN : Number(revision);
    });
  });
});

function needsPython(context: TestContext): void {
  const { status } = spawnSync("python3", ["-c", "import grpc_tools, google.rpc"]);
  if (status === 0) return;
  if (process.env["MOORING_TEST_REQUIRE_PROGRAMS"] !== undefined)
    throw new Error("grpcio-tools is not installed, and MOORING_TEST_REQUIRE_PROGRAMS is set");
  context.skip("Python's grpcio-tools is not installed (test/requirements.txt)");
}
