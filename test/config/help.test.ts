import { describe, expect, test } from "vitest";
import { definitionList, flagOf } from "../../src/config/definition.ts";
import { configurationHelp } from "../../src/config/help.ts";

test.each(definitionList)("the help explains $variable", (definition) => {
  const usage = `${flagOf(definition)} ${definition.placeholder}`;
  expect(configurationHelp().split("\n")).toContain(`  ${usage}`);
});

test.each(definitionList)("$variable has a sentence for its help", ({ help, placeholder }) => {
  expect(help).toMatch(/^[A-Z].*\.$/);
  expect(placeholder).toMatch(/^[A-Z:]+$/);
});

test("no two definitions share a variable", () => {
  expect(new Set(definitionList.map(({ variable }) => variable)).size).toBe(definitionList.length);
});

describe("the help", () => {
  test.each([40, 60, 80, 100])("keeps to a terminal of %d columns", (columns) => {
    const long = configurationHelp({ columns })
      .split("\n")
      .filter((line) => line.length > columns);
    // A single word can't be broken.
    expect(long.filter((line) => line.trim().includes(" "))).toEqual([]);
  });
  test.each([undefined, 0, Number.NaN])("is for 80 columns when there are %s", (columns) => {
    expect(configurationHelp({ columns })).toBe(configurationHelp({ columns: 80 }));
  });
  test("warns that a process list shows a secret flag", () => {
    expect(configurationHelp({ columns: 100 })).toMatch(/process list/);
  });
  test("has none of Markdown's marks", () => {
    expect(configurationHelp()).not.toContain("`");
  });
});
