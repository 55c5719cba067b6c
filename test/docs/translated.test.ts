import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";

const DOCS = join(import.meta.dirname, "../../docs");
const LANGUAGE = "zh-CN";
/** Operators' pages, which exist in both languages. */
const REQUIRED = [
  "start",
  "beside-your-server",
  "operating",
  "containers",
  "settings",
  "drivers",
  "console",
  "backup",
  "upgrading",
  "postgres",
  "access",
  "users",
  "incidents",
  "mounts",
  "cli",
  "audit",
  "configuration",
  "state-file",
  "rules",
  "calls",
  "errors",
  "metrics",
  "reliability",
  "compatibility",
  "languages",
];
const translated = globSync(`${LANGUAGE}/*.md`, { cwd: DOCS }).map((file) => basename(file, ".md"));

const fences = /^```(\w*)\n([\s\S]*?)^```/gm;

/** Levels of the headings, such as `## ##`. */
function headingsOf(page: string): string[] {
  return page
    .replace(fences, "")
    .split("\n")
    .flatMap((line) => /^#+(?= )/.exec(line) ?? []);
}

/** Code blocks without comments and without texts of examples that may be translated. */
function codeOf(page: string): string[] {
  return [...page.matchAll(fences)].map(([, language = "", text = ""]) => {
    const lines = text.split("\n").map((line) => line.replace(/\s+# .*$/, "").trimEnd());
    return `${language}\n${lines.join("\n")}`;
  });
}

/** Code in the first cell of each table row: names of settings, variables, members. */
function namesOf(page: string): string[] {
  return [...page.matchAll(/^\| ([^|\n]*(?:\\\|[^|\n]*)*) \|/gm)].map(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name).join(" "),
  );
}

test("operators' pages are translated", () => {
  expect(translated).toEqual(expect.arrayContaining(REQUIRED));
});

test("README.zh-CN.md links to pages of its language where they exist", () => {
  const readme = readFileSync(join(DOCS, "../README.zh-CN.md"), "utf8");
  const english = [...readme.matchAll(/\]\(docs\/([a-z-]+)\.md/g)].map(([, page = ""]) => page);
  expect(english.length).toBeGreaterThan(0);
  expect(english.filter((page) => translated.includes(page))).toEqual([]);
});

const pages = [
  ...translated.map((name) => [name, `${name}.md`, `${LANGUAGE}/${name}.md`] as const),
  ["security", "../SECURITY.md", "../SECURITY.zh-CN.md"] as const,
];

describe.each(pages)("%s", (_name, file, twin) => {
  const path = join(DOCS, file);
  const english = existsSync(path) ? readFileSync(path, "utf8") : "";
  const other = readFileSync(join(DOCS, twin), "utf8");

  test("has the same headings in both languages", () => {
    expect(headingsOf(other)).toEqual(headingsOf(english));
  });

  test("has the same commands and examples in both languages", () => {
    expect(codeOf(other)).toEqual(codeOf(english));
  });

  test("has tables of the same names in both languages", () => {
    expect(namesOf(other)).toEqual(namesOf(english));
  });

  test("links to pages of its language where they exist", () => {
    const english = [...other.matchAll(/\]\(\.\.\/([a-z-]+)\.md/g)].map(([, page = ""]) => page);
    expect(english.filter((page) => translated.includes(page))).toEqual([]);
  });

  test("is written in its language", () => {
    expect(other).toMatch(/^# .*\p{sc=Han}/u);
    const paragraphs = other.replace(fences, "").split(/\n{2,}/);
    const foreign = paragraphs.filter((text) => text.length > 80 && !/\p{sc=Han}/u.test(text));
    expect(foreign).toEqual([]);
  });
});
