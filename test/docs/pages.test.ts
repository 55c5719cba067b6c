import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const pages = globSync(["*.md", "docs/**/*.md", "packaging/**/*.md", "examples/**/*.md"], {
  cwd: root,
});
const read = (page: string): string => readFileSync(join(root, page), "utf8");

test.each(pages)("%s links to existing files", (page) => {
  for (const [, path = ""] of read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]+)[^)]*\)/g))
    expect(existsSync(join(root, dirname(page), path)), `${page} links to ${path}`).toBe(true);
});

test.each(pages)("%s links to existing headings", (page) => {
  for (const [, path = "", heading = ""] of read(page).matchAll(/\]\(([^):#\s]*)#([^)\s]+)\)/g)) {
    const text = path === "" ? read(page) : read(join(dirname(page), path));
    const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => anchorOf(title));
    expect(anchors, `${page} links to ${path}#${heading}`).toContain(heading);
  }
});

/** Anchors of headings, as code hosting sites derive them. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

test.each(pages)("%s names existing npm scripts", (page) => {
  const { scripts } = JSON.parse(read("package.json"));
  for (const [, name = ""] of read(page).matchAll(/npm run (?:-s )?([a-z]+)/g))
    expect(Object.keys(scripts), `${page} names npm run ${name}`).toContain(name);
});

test("CONTRIBUTING names existing files and folders", () => {
  const named = [
    ...read("CONTRIBUTING.md").matchAll(/`((?:src|test|docs|proto|tools)\/[a-z\d./-]+)`/g),
  ];
  expect(named.length).toBeGreaterThan(10);
  for (const [, path = ""] of named) expect(existsSync(join(root, path)), path).toBe(true);
});

test.each([
  ["CONTRIBUTING.md", ""],
  ["docs/architecture.md", "src"],
])("%s names code that is in the file that it names", (page, folder) => {
  const named = [...read(page).matchAll(/`(\w+)`(?: in | of | \()`([\w./-]+\/[\w.-]+\.tsx?)`/g)];
  expect(named.length).toBeGreaterThan(0);
  for (const [, name = "", file = ""] of named) {
    const words = read(join(folder, file)).match(/\w+/g);
    expect(words?.includes(name), `${page} names ${name} in ${file}`).toBe(true);
  }
});

test("the architecture page and decisions in force name existing files", () => {
  const files = globSync("{src,test,tools,attack,bench}/**/*.{ts,tsx}", { cwd: root });
  const holding = pages.filter(
    (page) => /decisions\/\d/.test(page) && !/^\*.*(?:superseded|paths are)/im.test(read(page)),
  );
  expect(holding.length).toBeGreaterThan(10);
  for (const page of ["docs/architecture.md", ...holding])
    for (const [, name = ""] of read(page).matchAll(/`([a-z\d/.-]+\.tsx?)`/g))
      expect(
        files.some((file) => `/${file}`.endsWith(`/${name}`)),
        `${page} names ${name}`,
      ).toBe(true);
});
