import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { commandHelp, commands, runCli } from "../../src/cli/cli.ts";
import { usagesOf } from "../../src/cli/command.ts";
import { createOutput } from "../../src/cli/output.ts";
import { closedPipe, run, start } from "./world.ts";

describe("help", () => {
  test.each(
    commands.flatMap(({ name, usage, actions = {} }) =>
      Object.keys(actions)
        .filter((action) => usagesOf(`${name} ${action}`, usage).length > 0)
        .map((action) => [name, action] as const),
    ),
  )(
    "%s %s begins with its own usage and flags; those of every command come last",
    async (name, action) => {
      const { code, out } = await run(["help", name, action]);
      expect(code).toBe(0);
      expect(await run([name, action, "--help"])).toEqual({ code, out, err: "" });
      expect(out).toMatch(new RegExp(`^Usage: mooring ${name} ${action}\\b`));
      const usage = out.slice(0, out.indexOf("\n\n"));
      expect(usage.match(/mooring \w+ [\w-]+/g)).toEqual(
        Array.from(usage.matchAll(/mooring/g), () => `mooring ${name} ${action}`),
      );
      const own = out.slice(0, out.indexOf("Flags of every command"));
      for (const [flag] of usage.matchAll(/--[a-z-]+/g))
        expect(own).toMatch(new RegExp(`^ +${flag}\\b`, "m"));
      expect(own).not.toMatch(/^ +--address /m);
    },
  );

  test("of an action that does not exist names the nearest one", async () => {
    expect(await run(["help", "mount", "sett"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("did you mean mount set?"),
    });
  });

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
    [["diff", "1", "2", "3"], "diff takes 2 arguments"],
    [["list", "--chnged"], "did you mean --changed?"],
    [["list", "--limit", "3"], 'unknown flag "--limit"'],
    [["token", "create", "a", "--scopes", "settings:read", "--limits", ","], '--limits "," has no'],
    [["token", "create", "a", "--scopes", ", ,"], '--scopes ", ," has no items'],
    [["export", "--only", ",,"], '--only ",," has no items'],
    [["import", "a.json", "--only", "mounts", "--only", ","], '--only "," has no items'],
    [["audit", "list", "--method", ","], '--method "," has no items'],
    [["audit", "list", "--outcome", ","], '--outcome "," has no items'],
    [["rule", "create", "/a", "read_users=,"], 'read_users "," has no items'],
    [["rule", "create", "/a", "hide=a", "hide=b"], '"hide" is given more than once'],
    [["rule", "create", "/a", "hide@b=a", "hide@b"], '"hide@b" is given more than once'],
    [
      ["mount", "create", "a", "/a", "Local", "order=1", "order=2"],
      '"order" is given more than once',
    ],
    [["site", "set", "a", "mode=follow", "mode=observe"], '"mode" is given more than once'],
  ])("%j ends with 2 and suggests the nearest name", async (args, reason) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(reason);
    expect(err).toMatch(/mooring .*shows how\n$/);
  });
});

describe("output to a closed pipe", () => {
  test("ends a command silently", async () => {
    const { world, ended } = start(["help"], { world: { stdout: closedPipe() } });
    expect(ended(await runCli(world))).toEqual({ code: 0, out: "", err: "" });
  });

  test("of errors is not an error", async () => {
    const { world } = start(["gte"], { world: { stderr: closedPipe() } });
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
