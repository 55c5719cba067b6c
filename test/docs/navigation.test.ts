import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { LANGUAGES, siteContent } from "../../tools/site/content.ts";
import { navigation, rootOf } from "../../tools/site/navigation.ts";

const ROOT = join(import.meta.dirname, "../..");
const { contents, pages } = siteContent(ROOT);
const files = globSync("docs/*.md", { cwd: ROOT }).map((file) => basename(file, ".md"));

describe.each(LANGUAGES)("the sidebar of the documentation in %s", (language) => {
  const root = rootOf(language);
  const links = navigation(language, contents)
    .sidebar(`${root}start`)
    .flatMap((section) => section.links);
  const paths = links.map(({ path }) => path);

  test("has every page, in the language if it is translated", () => {
    const own = contents[language].pages;
    const expected = files.map((name) => (own[name] !== undefined ? `${root}${name}` : `/${name}`));
    expect(expected.filter((path) => !paths.includes(path))).toEqual([]);
  });

  test("has existing pages only, with a title each", () => {
    const existing = pages.map(({ path }) => path);
    expect(paths.filter((path) => !existing.includes(path))).toEqual([]);
    expect(links.filter(({ text }) => /^(undefined)?(（英文）)?$/.test(text))).toEqual([]);
  });
});
