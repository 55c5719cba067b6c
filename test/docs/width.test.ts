import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = [
  "README*.md",
  "docs/*.md",
  "docs/zh-CN/*.md",
  "packaging/**/*.md",
  "examples/**/*.md",
];
const pages = globSync(PAGES, { cwd: ROOT, exclude: ["**/node_modules/**"] });
/** Columns of a code block that a page of the documentation shows without scrolling. */
const MOST_COLUMNS = 100;

/** Columns of a text: East Asian characters take two. */
const columnsOf = (text: string): number =>
  text.length + (text.match(/[\p{sc=Han}\u3000-\u303f\uff00-\uff60]/gu) ?? []).length;

test.each(pages)("code of %s fits the page", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const lines = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, code = ""]) =>
    code.split("\n"),
  );
  expect(lines.filter((line) => columnsOf(line) > MOST_COLUMNS)).toEqual([]);
});
