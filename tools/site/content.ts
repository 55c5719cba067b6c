import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { Language } from "../../src/messages/language.ts";
import type { Page } from "./pages.ts";
import { driverPages, settingPages } from "./pages.ts";
import { WORDS } from "./words.ts";

/** Pages outside of docs/, by their path in the repository. */
const OTHERS: Readonly<Record<string, string>> = {
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
  "SECURITY.md": "security",
};

/** READMEs from which the first page of each language is generated. */
const FIRST_PAGES: readonly (readonly [Language, string, string])[] = [
  ["en", "README.md", "index"],
  ["zh-CN", "README.zh-CN.md", "zh-CN/index"],
];

const LANGUAGE_ROOTS: readonly (readonly [Language, string])[] = [
  ["en", ""],
  ["zh-CN", "zh-CN/"],
];

/**
 * Writes the input of VitePress: the pages of docs/ and three others, and generated pages of
 * drivers and settings in each language, with their sidebars.
 *
 * @param root of the repository. @param target folder, which is replaced.
 */
export function writeContent(root: string, target: string): void {
  rmSync(target, { recursive: true, force: true });
  const files = globSync(["docs/**/*.md", ...Object.keys(OTHERS)], { cwd: root }).sort();
  const places = new Map(files.map((file) => [file, placeOf(file)]));
  for (const [file, place] of places) {
    const text = readFileSync(join(root, file), "utf8");
    write(target, `${place}.md`, withoutMarks(relinked(text, file, places)));
  }
  for (const [language, file, place] of FIRST_PAGES) {
    const text = firstPage(readFileSync(join(root, file), "utf8"), language);
    write(
      target,
      `${place}.md`,
      withoutMarks(relinked(text, file, new Map([...places, [file, place]]))),
    );
  }
  for (const image of globSync("docs/**/*.{png,svg}", { cwd: root })) {
    const copy = join(target, image.slice("docs/".length));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(root, image), copy);
  }
  for (const place of [...places.values(), "decisions/index"])
    if (!place.startsWith("zh-CN/") && !files.includes(`docs/zh-CN/${place}.md`))
      write(target, `zh-CN/${place}.md`, englishOnly(place));
  const decisions = decisionList(root, files);
  const intro = decisions.map(({ text, link }) => `- [${text}](${link})`).join("\n");
  write(target, "decisions/index.md", `# ${WORDS.en.decisions}\n\n${intro}\n`);
  const sidebars = LANGUAGE_ROOTS.map(([language, at]) => {
    const drivers = driverPages(language);
    const settings = settingPages(language);
    for (const { path, title, text } of [...drivers, ...settings])
      write(target, `${at}${path}.md`, `---\ntitle: ${JSON.stringify(title)}\n---\n\n${text}\n`);
    const own = [...places.values()].filter((place) => place.startsWith("zh-CN/") === (at !== ""));
    const items = (pages: readonly Page[]) =>
      pages.slice(1).map(({ path, title }) => ({ text: title, link: `/${at}${path}` }));
    const sidebar = {
      drivers: items(drivers),
      settings: items(settings),
      decisions,
      pages: [...own.map((place) => place.slice(at.length)), "decisions/"],
    };
    return [language, at === "" ? sidebar : { ...sidebar, pages: sidebar.pages.slice(0, -1) }];
  });
  writeFileSync(join(target, "sidebars.json"), JSON.stringify(Object.fromEntries(sidebars)));
}

/** The path of a page in the site, without `.md`. */
function placeOf(file: string): string {
  return OTHERS[file] ?? file.slice("docs/".length, -".md".length);
}

/**
 * Converts the links of a page for the site. Links to files that are not in the site become text.
 */
function relinked(text: string, file: string, places: ReadonlyMap<string, string>): string {
  return text.replace(
    /(!?)\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?!https?:|mailto:|#|\/)([^)#\s]+)(#[^)\s]*)?\)/g,
    (_whole, image: string, shown: string, path: string, anchor = "") => {
      const goal = posix.join(dirname(file), path);
      const here = places.get(file) ?? "";
      if (image !== "")
        return `![${shown}](./${posix.relative(dirname(here), goal.slice("docs/".length))})`;
      const place = /^docs\/decisions\/?$/.test(goal) ? "decisions/" : places.get(goal);
      return place === undefined
        ? shown
        : `[${shown}](/${place.replace(/(^|\/)index$/, "$1")}${anchor})`;
    },
  );
}

/**
 * First page: a README from its picture on, without its list of pages, below a heading with
 * buttons.
 */
function firstPage(readme: string, language: Language): string {
  const { claim, tagline, buttons } = WORDS[language].first;
  const root = language === "en" ? "/" : `/${language}/`;
  const actions = Object.entries(buttons).map(([page, text]) => ({ text, link: `${root}${page}` }));
  const [first = {}, ...rest] = actions;
  const hero = {
    name: "Mooring",
    text: claim,
    tagline,
    actions: [{ theme: "brand", ...first }, ...rest.map((one) => ({ theme: "alt", ...one }))],
  };
  const body = readme.slice(readme.indexOf("\n!["), readme.lastIndexOf("\n## "));
  // JSON is YAML.
  return `---\nlayout: home\nhero: ${JSON.stringify(hero)}\n---\n${body}\n`;
}

/** Chinese page that links to the English one, for the language switch, which keeps the address. */
function englishOnly(place: string): string {
  const { onlyEnglish, colon } = WORDS["zh-CN"];
  const link = place.replace(/(^|\/)index$/, "$1");
  return `---\nsearch: false\ntitle: ${onlyEnglish}\n---\n\n# ${onlyEnglish}\n\n${onlyEnglish}${colon}[${link}](/${link})\n`;
}

/** Removes the markers of generated tables. */
function withoutMarks(text: string): string {
  return text.replace(/<!-- \/?\w+ -->\n?/g, "");
}

function decisionList(root: string, files: readonly string[]) {
  return files
    .filter((file) => file.startsWith("docs/decisions/"))
    .map((file) => {
      const [, heading = ""] = /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
      return { text: heading, link: `/${placeOf(file)}` };
    });
}

function write(target: string, path: string, text: string): void {
  const file = join(target, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
