import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { needs } from "../../downloaders/program.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { temporaryFolder } from "../../temporary.ts";
import { startService, TOKEN } from "../../wire/service.ts";
import { runInBash } from "./shell.ts";
import { patternOf, sectionOf, stepsOf } from "./steps.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");
const readme = read("README.md");

/** Maximum number of lines to a result. */
const MOST_LINES = 10;
const WAYS = ["## Beside my server", "## For my programs", "## For my gateway"];
const blocksOf = (page: string): string[] =>
  [...page.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block = ""]) => block.trim());

beforeEach(needs("curl", "bash"));

describe("README.md", () => {
  test.each(WAYS)("%s has a result after few lines", (title) => {
    const [block = "", ...others] = blocksOf(sectionOf(readme, title));
    expect(others).toEqual([]);
    expect(block.split("\n").length).toBeLessThanOrEqual(MOST_LINES);
  });

  test("has the same commands in Chinese", () => {
    expect(blocksOf(read("README.zh-CN.md"))).toEqual(blocksOf(readme));
  });

  test.each([
    ["README.md", WAYS[0] ?? ""],
    ["README.md", WAYS[1] ?? ""],
    ["docs/start.md", "## First change"],
  ])("%s, %s has the described effect", async (page, title) => {
    const [folder, site, service] = await Promise.all([
      temporaryFolder(),
      startStandIn(),
      startService(),
    ]);
    onTestFinished(() => Promise.all([service.stop(), site.stop()]).then(() => undefined));
    await writeFile(join(folder, "site-token"), site.token());
    site.settings.rows.delete("move_task_threads_num");
    for (const { command, output } of stepsOf(sectionOf(read(page), title))) {
      const adapted = command
        .replaceAll("127.0.0.1:5244", `127.0.0.1:${service.port}`)
        .replaceAll("127.0.0.1:5245", `127.0.0.1:${site.port}`);
      const { out } = await runInBash(`exec 2>&1; ${adapted}`, folder, {
        MOORING_TOKEN: TOKEN,
        MOORING_ADDRESS: `127.0.0.1:${service.port}`,
      });
      expect(out).toMatch(patternOf(output));
    }
  });

  test("the section for a gateway has the described effect", async () => {
    const folder = temporaryFolder();
    const [make, ...steps] = stepsOf(sectionOf(readme, WAYS[2] ?? ""));
    expect(make?.command).toBe("npm run package -- --only gateway");
    await mkdir(join(folder, "out"));
    const tool = join(ROOT, "tools/package.ts");
    execFileSync(process.execPath, [tool, join(folder, "out"), "--only", "gateway"]);
    cpSync(join(ROOT, "examples/gateway"), join(folder, "examples/gateway"), {
      recursive: true,
      filter: (path) => !/\/(?:gen|node_modules)$/.test(path),
    });
    const port = await freePort();
    const commands = steps.map(({ command }) => command.replaceAll("8080", String(port)));
    const child = spawn("bash", ["-ec", [...commands, "kill $!"].join("\n")], {
      cwd: folder,
      env: { ...process.env, PORT: String(port), npm_config_prefer_offline: "true" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(printed).toContain(steps.at(-1)?.output ?? "");
  });
});
