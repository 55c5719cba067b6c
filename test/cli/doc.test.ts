import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { flags, sharedFlags } from "../../src/cli/argument.ts";
import { commands } from "../../src/cli/cli.ts";
import { exitMeanings } from "../../src/cli/failure.ts";
import { cliVariables } from "../../src/cli/world.ts";

const doc = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");

/** The text below a heading, up to the next one. */
function section(heading: string): string {
  const [, text = ""] = doc.split(`\n${heading}\n`);
  return text.split(/\n#{2,3} /)[0] ?? "";
}

describe("docs/cli.md", () => {
  test.each(commands.map((command) => [command.name, command] as const))(
    "describes %s, each of its forms and every flag",
    (name, { usage, flags: own }) => {
      const text = section(`### ${name}`);
      for (const line of usage) expect(text).toContain(`mooring ${line}\n`);
      for (const flag of own) expect(text).toContain(`--${flag}`);
    },
  );

  test("lists no flag that does not exist", () => {
    const named = [...doc.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name]) => name);
    expect(Object.keys(flags)).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  test("lists the flags of every command and the variables", () => {
    const text = section("## Address and token");
    for (const flag of sharedFlags) expect(text).toContain(`--${flag}`);
    for (const variable of cliVariables) expect(text).toContain(`\`${variable}\``);
  });

  test("lists the exit codes with their meaning", () => {
    const rows = Object.entries(exitMeanings).map(([code, meaning]) => `| ${code} | ${meaning} |`);
    expect(section("## For scripts")).toContain(rows.join("\n"));
  });

  test("has a section for each command and no other", () => {
    const headings = [...doc.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(commands.map(({ name }) => name));
  });
});
