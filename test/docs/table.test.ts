import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pages, withTables } from "../../tools/docs.ts";

test.each(pages)("%s has the tables that npm run docs writes", (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(withTables(text)).toBe(text);
});

test.each([
  ["docs/calls.md", "routes"],
  ["docs/configuration.md", "configuration"],
  ["docs/zh-CN/configuration.md", "configurationInChinese"],
])("%s has the table of the %s", (page, name) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(text).toMatch(new RegExp(`<!-- ${name} -->\n\\| [\\s\\S]+\n<!-- /${name} -->`));
});
