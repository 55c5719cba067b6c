import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pages, withTables } from "../../tools/doc-table.ts";

test.each(pages)("%s has the tables that npm run docs writes", (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(withTables(text)).toBe(text);
});

test("the README has the tables of the routes and of the configuration", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  for (const name of ["routes", "configuration"])
    expect(readme).toMatch(new RegExp(`<!-- ${name} -->\n\\| [\\s\\S]+\n<!-- /${name} -->`));
});
