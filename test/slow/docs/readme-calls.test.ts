import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";

/** A command of a page with the output that it shows. */
interface Call {
  readonly command: string;
  readonly output: string;
}

/** Pages, and the section of each that shows calls. */
const pages = [
  ["docs/calls.md", "## Calls"],
  ["docs/languages.md", "## Choosing one"],
] as const;

/** The calls of a section, in order: later ones show what earlier ones have changed. */
function callsOf(page: string, title: string): Call[] {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
  return [...section(text, title).matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
    .map(readCall);
}

beforeEach(needs("curl", "bash"));

describe.each(pages)("%s", (page, title) => {
  const calls = callsOf(page, title);

  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  test("shows calls", () => expect(calls.length).toBeGreaterThan(0));

  test.each(calls)("$command", async ({ command, output }) => {
    const here = command.replaceAll("127.0.0.1:5244", `127.0.0.1:${service.port}`);
    const env = {
      ...process.env,
      MOORING_TOKEN: TOKEN,
      MOORING_ADDRESS: `127.0.0.1:${service.port}`,
    };
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", here], { env });
    expect(stdout.trim() || stderr.trim()).toBe(output);
  });
});

function section(page: string, title: string): string {
  const start = page.indexOf(title);
  return page.slice(start, page.indexOf("\n## ", start + 1));
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
