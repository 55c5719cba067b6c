import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commands } from "../../src/cli/cli.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/console-commands.md"), "utf8");

/** Rows of the table: command with its action, flags and place. */
const rows = [...text.matchAll(/^\| `([a-z -]+)` \| (.*?) ?\| (.*?) \|$/gm)].map(
  ([, command = "", flags = "", place = ""]) => ({
    command,
    flags: [...flags.matchAll(/`--([a-z-]+)`/g)].map(([, flag = ""]) => flag),
    place,
  }),
);

const named = commands.flatMap(({ name, actions }) =>
  actions === undefined ? [name] : Object.keys(actions).map((action) => `${name} ${action}`),
);

describe("the places of commands in the console", () => {
  test("are complete: each command and action has one, and no other", () => {
    expect(rows.map(({ command }) => command)).toEqual(named);
    for (const { command, place } of rows) expect(place.length, command).toBeGreaterThan(4);
  });

  test.each(commands.map(({ name, flags }) => [name, flags] as const))(
    "of %s name all of its flags",
    (name, flags) => {
      const own = rows.filter(({ command }) => command === name || command.startsWith(`${name} `));
      const listed = new Set(own.flatMap((row) => row.flags));
      expect([...listed].sort()).toEqual([...flags].sort());
    },
  );

  test("of actions name only flags that they take", () => {
    for (const { name, actions = {} } of commands)
      for (const [action, { flags }] of Object.entries(actions)) {
        const row = rows.find(({ command }) => command === `${name} ${action}`);
        const taken: readonly string[] | undefined = flags;
        if (taken !== undefined)
          expect(
            row?.flags.filter((flag) => !taken.includes(flag)),
            `${name} ${action}`,
          ).toEqual([]);
      }
  });
});
