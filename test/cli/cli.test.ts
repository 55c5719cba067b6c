import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { commandHelp, commands, runCli } from "../../src/cli/cli.ts";
import { createOutput } from "../../src/cli/output.ts";
import { run, start } from "./world.ts";

describe("help", () => {
  test.each([[[]], [["help"]]])("%j shows all commands", async (args) => {
    const { code, out } = await run(args);
    expect(code).toBe(0);
    for (const { name, summary } of commands)
      expect(out).toMatch(new RegExp(`^ {2}${name} +${summary}$`, "m"));
  });

  test.each(commands.map(({ name }) => name))(
    "of %s fits a terminal, in both spellings",
    async (name) => {
      const { code, out } = await run([name, "--help"]);
      expect(code).toBe(0);
      expect(await run(["help", name])).toEqual({ code, out, err: "" });
      expect(out).toContain(`Usage: mooring ${name}`);
      for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(88);
    },
  );

  test("of the program itself has one line per command", () => {
    expect(commandHelp().split("\n")).toHaveLength(commands.length);
  });
});

describe("an invalid command line", () => {
  test.each([
    [["gte", "x"], 'there is no command "gte": did you mean get?'],
    [["server"], "did you mean serve?"],
    [["foo"], 'there is no command "foo": help lists all'],
    [["get"], "get: KEY is missing"],
    [["mount", "copy", "a"], "mount copy: NEW-NAME is missing"],
    [["mount", "create", "a"], "mount create: PATH is missing"],
    [["site"], "site: an action is missing, such as site add"],
    [["diff", "1", "2", "3"], "more than 2 arguments"],
    [["list", "--chnged"], "did you mean --changed?"],
    [["list", "--limit", "3"], 'unknown flag "--limit"'],
  ])("%j ends with 2 and suggests the nearest name", async (args, reason) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(reason);
    expect(err).toMatch(/mooring .*shows how\n$/);
  });
});

describe("output to a closed pipe", () => {
  const closed = () =>
    new Writable({
      write: (_chunk, _encoding, done) =>
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
    });

  test("ends a command silently", async () => {
    const { world, ended } = start(["help"], { world: { stdout: closed() } });
    expect(ended(await runCli(world))).toEqual({ code: 0, out: "", err: "" });
  });

  test("of errors is not an error", async () => {
    const { world } = start(["gte"], { world: { stderr: closed() } });
    expect(await runCli(world)).toBe(2);
  });

  test("differs from a full disk, which is an error", async () => {
    const full = new Writable({
      write: (_chunk, _encoding, done) =>
        done(Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" })),
    });
    const { world, ended } = start(["help"], { world: { stdout: full } });
    expect(ended(await runCli(world))).toEqual({
      code: 1,
      out: "",
      err: "mooring: write ENOSPC\n",
    });
  });
});

test("colours are used on terminals that support them", () => {
  const terminal = start(["list"], { terminal: 80 }).world.stdout;
  const styled = (env: Record<string, string>, stream = terminal) =>
    createOutput(stream, env).style("bold", "x");
  expect(styled({})).toBe("\u001b[1mx\u001b[22m");
  expect(styled({ NO_COLOR: "1" })).toBe("x");
  expect(styled({ TERM: "dumb" })).toBe("x");
  expect(styled({}, start(["list"]).world.stdout)).toBe("x");
});
