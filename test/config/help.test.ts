import { describe, expect, test } from "vitest";
import { definitionList, flagOf } from "../../src/config/definition.ts";
import { configurationHelp } from "../../src/config/help.ts";

test.each(definitionList)("the help lists $variable", (definition) => {
  const usage = `${flagOf(definition)} ${definition.placeholder}`;
  expect(configurationHelp().split("\n")).toContain(`  ${usage}`);
});

test.each(definitionList)("$variable has a sentence in the help", ({ help, placeholder }) => {
  expect(help).toMatch(/^[A-Z].*\.$/);
  expect(placeholder).toMatch(/^[A-Z:]+$/);
});

test("variables of definitions are unique", () => {
  expect(new Set(definitionList.map(({ variable }) => variable)).size).toBe(definitionList.length);
});

describe("the help", () => {
  test.each([40, 60, 80, 100])("fits a terminal of %d columns", (columns) => {
    const long = configurationHelp({ columns })
      .split("\n")
      .filter((line) => line.length > columns);
    // A single word cannot be wrapped.
    expect(long.filter((line) => line.trim().includes(" "))).toEqual([]);
  });
  test.each([undefined, 0, Number.NaN])("has 80 columns when there are %s", (columns) => {
    expect(configurationHelp({ columns })).toBe(configurationHelp({ columns: 80 }));
  });
  test("warns that a process list shows a secret flag", () => {
    expect(configurationHelp({ columns: 100 })).toMatch(/process list/);
  });
  test("has no Markdown marks", () => {
    expect(configurationHelp()).not.toContain("`");
  });
});
