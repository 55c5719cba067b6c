import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configurationTable } from "../../src/config/table.ts";

const readme = new URL("../../README.md", import.meta.url);
const marks = { begin: "<!-- configuration -->", end: "<!-- /configuration -->" };

test("the README's configuration table is the one that the definitions make", () => {
  const text = existsSync(readme) ? readFileSync(readme, "utf8") : "";
  const begin = text.indexOf(marks.begin);
  const end = text.indexOf(marks.end, begin);
  expect(
    begin !== -1 && end !== -1,
    `README.md needs the lines ${marks.begin} and ${marks.end} with the table between them`,
  ).toBe(true);
  expect(text.slice(begin + marks.begin.length, end).trim()).toBe(configurationTable());
});
