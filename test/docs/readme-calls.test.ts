import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { needs } from "../downloader/program.ts";
import { startService, type TestService, TOKEN } from "../wire/service.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** A command of the README with the output that it shows. */
interface Call {
  readonly command: string;
  readonly output: string;
}

/** The calls of the section "Call it", in order: later ones show what earlier ones have changed. */
const calls: readonly Call[] = [...section("## Call it").matchAll(/```console\n([\s\S]*?)```/g)]
  .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
  .map(readCall);

beforeEach(needs("curl", "bash"));

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test("the README shows calls", () => expect(calls.length).toBeGreaterThan(5));

test.each(calls)("$command", async ({ command, output }) => {
  const here = command.replaceAll("127.0.0.1:5244", `127.0.0.1:${service.port}`);
  const env = { ...process.env, TOKEN };
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", here], { env });
  expect(stdout.trim() || stderr.trim()).toBe(output);
});

function section(title: string): string {
  const start = readme.indexOf(title);
  return readme.slice(start, readme.indexOf("\n## ", start + 1));
}

/** A command may go on over lines that end with a backslash. */
function readCall(text: string): Call {
  const lines = text.split("\n");
  const last = lines.findIndex((line) => !line.endsWith("\\"));
  return {
    command: lines.slice(0, last + 1).join("\n"),
    output: lines
      .slice(last + 1)
      .join("\n")
      .trim(),
  };
}
