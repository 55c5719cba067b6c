import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";
import { startService, TOKEN } from "../../wire/service.ts";
import { patternOf, sectionOf, stepsOf } from "./steps.ts";

/** Pages, and the section of each that shows calls. */
const pages = [
  ["docs/calls.md", "## Calls"],
  ["docs/languages.md", "## Choosing one"],
] as const;

beforeEach(needs("curl", "bash"));

describe.each(pages)("%s", (page, title) => {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
  const calls = stepsOf(sectionOf(text, title));

  const service = startedForAll(startService);

  test("shows calls", () => expect(calls.length).toBeGreaterThan(0));

  test.each(calls)("$command", async ({ command, output }) => {
    const adapted = command.replaceAll("127.0.0.1:5244", `127.0.0.1:${service.port}`);
    const env = {
      ...process.env,
      MOORING_TOKEN: TOKEN,
      MOORING_ADDRESS: `127.0.0.1:${service.port}`,
    };
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", adapted], { env });
    expect(stdout.trim() || stderr.trim()).toMatch(patternOf(output));
  });
});
