import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { rules } from "../tools/mutation/rules.ts";

const cwd = fileURLToPath(new URL("..", import.meta.url));

test.each(Object.entries(rules))("the rule %s for mutants names files that exist", (_, rule) => {
  for (const glob of [...rule.files, ...rule.tests])
    expect(globSync(glob, { cwd }), glob).not.toEqual([]);
});
