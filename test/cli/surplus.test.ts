import { expect, test } from "vitest";
import { commands } from "../../src/cli/cli.ts";
import { cli, useService } from "./service.ts";

useService();

/** Superfluous argument for whose value the command has a flag; it may be a secret. */
const WORD = "word-that-is-not-repeated";

const CASES: readonly (readonly [args: string, flag: string])[] = [
  ["webhook add chat", "--url-file"],
  ["webhook create chat", "--url-file"],
  ["webhook set chat", "--url-file"],
  ["site add home http://127.0.0.1:1", "--site-token-file"],
  ["mount list", "--site"],
  ["rule list", "--site"],
  ["incident list", "--site"],
  ["incident ack id", "--comment"],
  ["audit list", "--actor"],
  ["audit verify", "--checkpoint"],
  ["audit export", "--after"],
  ["audit checkpoint", "--output"],
  ["principal create anna", "--kind"],
  ["token create anna", "--scopes"],
  ["token set", "--from-file"],
  ["token reset", "--output"],
  ["backup create", "--output"],
  ["database copy", "--from"],
  ["database check", "--database"],
  ["list", "--group"],
];

test.each(CASES)("%s with a further argument names the flag", async (args, flag) => {
  const { code, out, err } = await cli([...args.split(" "), WORD]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(`; use ${flag} `.trimEnd());
  expect(err).not.toContain(WORD);
});

test("every flag that is named for a further argument is one of its command", () => {
  const named = commands.flatMap(({ name, flags, offline, actions = {}, instead }) =>
    [instead, ...Object.values(actions).map((action) => action.instead)].flatMap((text) =>
      (text?.match(/--[a-z-]+/g) ?? []).map((flag) => ({ name, flag, flags, offline })),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  for (const { name, flag, flags, offline } of named) {
    const known = [...flags, ...(offline ? ["database"] : [])].map((each) => `--${each}`);
    expect([name, known]).toEqual([name, expect.arrayContaining([flag])]);
  }
});
