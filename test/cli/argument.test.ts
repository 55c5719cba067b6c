import { describe, expect, test } from "vitest";
import { readArguments } from "../../src/cli/argument.ts";
import { CliFailure } from "../../src/cli/failure.ts";

const known = ["json", "limit", "reason", "yes"] as const;
const read = (...args: string[]) => readArguments(args, known);

/** All problems of a command line. */
function problems(...args: string[]): string[] {
  try {
    read(...args);
    return [];
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    expect(error.exitCode).toBe(2);
    return [error.message, ...error.lines];
  }
}

describe("flags and arguments", () => {
  test("may be in any order", () => {
    const args = read("a", "--limit", "3", "b", "--json", "c");
    expect(args.positionals).toEqual(["a", "b", "c"]);
    expect(args.text("limit")).toBe("3");
    expect([args.is("json"), args.is("yes")]).toEqual([true, false]);
  });

  test("accept a value after =, after a space, or after a letter", () => {
    for (const args of [["--limit=3"], ["--limit", "3"], ["-n", "3"], ["-n3"]])
      expect(read(...args).text("limit")).toBe("3");
    expect(read("-y").is("yes")).toBe(true);
  });

  test("accept values that begin with a dash after = and after --", () => {
    expect(read("--reason=--json").text("reason")).toBe("--json");
    expect(read("--", "-5", "--json").positionals).toEqual(["-5", "--json"]);
    expect(read("set", "-").positionals).toEqual(["set", "-"]);
  });

  test.each([
    [["--jsn"], 'unknown flag "--jsn": did you mean --json?'],
    [["-5"], 'unknown flag "-5"'],
    [["--json=1"], "--json takes no value"],
    [["--limit"], "--limit needs a value (N)"],
    [["--limit", "--json"], "--limit needs a value (N)"],
    [["--limit="], "--limit needs a value (N)"],
    [["--limit=1", "--limit=2"], "--limit is given twice"],
  ])("%j is refused with the reason", (args, problem) => {
    expect(problems(...args).join("\n")).toContain(problem);
  });

  test("with several problems are reported at once, without values", () => {
    const lines = problems("--jsn", "--json=secret", "--limit");
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toContain("secret");
  });

  test("are limited in number", () => {
    expect(problems(...Array<string>(5_000).fill("x"))[0]).toContain("more than 4096");
  });
});
