import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { Language } from "../../src/messages/language.ts";
import type { Resolve } from "./markdown.ts";
import { type Contents, type Link, rootOf } from "./navigation.ts";
import { driverPages, type Page, settingPages } from "./pages.ts";
import { WORDS } from "./words.ts";

/** Pages outside of docs/, by their path in the repository. */
const OTHERS: Readonly<Record<string, string>> = {
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
  "SECURITY.md": "security",
  "SECURITY.zh-CN.md": "zh-CN/security",
};

/** READMEs from which the first page of each language is generated. */
const FIRST_PAGES: Readonly<Record<Language, string>> = {
  en: "README.md",
  "zh-CN": "README.zh-CN.md",
};

/** Languages of the site. */
export const LANGUAGES: readonly Language[] = ["en", "zh-CN"];

/** A page of the site before it is rendered. */
export interface SourcePage {
  /** Path in the site, such as `/driver/s3`; `/driver/` for an index. */
  readonly path: string;
  readonly language: Language;
  /** Markdown. */
  readonly text: string;
  /** Default: the first heading. */
  readonly title?: string;
  /** For the links of a file. */
  readonly resolve?: Resolve;
}

export interface SiteContent {
  readonly pages: readonly SourcePage[];
  /** Images by their path in the site, with their files. */
  readonly images: Readonly<Record<string, string>>;
  readonly contents: Readonly<Record<Language, Contents>>;
}

/**
 * The pages of docs/ and three others, and generated pages of drivers and settings in each language.
 *
 * @param root of the repository.
 */
export function siteContent(root: string): SiteContent {
  const files = globSync(["docs/**/*.md", ...Object.keys(OTHERS)], { cwd: root }).sort();
  const places = new Map(files.map((file) => [file, placeOf(file)]));
  const read = (file: string): string => readFileSync(join(root, file), "utf8");
  const written = files.map((file): SourcePage => {
    const place = places.get(file) ?? "";
    const language = place.startsWith("zh-CN/") ? "zh-CN" : "en";
    const resolve = resolverOf(file, places);
    return { path: `/${place}`, language, text: withoutMarks(read(file)), resolve };
  });
  const first = LANGUAGES.map((language): SourcePage => {
    const file = FIRST_PAGES[language];
    const text = withoutMarks(firstPage(read(file), language));
    const resolve = resolverOf(file, places);
    return { path: rootOf(language), language, text, title: "Mooring", resolve };
  });
  const decisions = decisionList(root, files);
  const parts = LANGUAGES.map((language) => {
    const place = rootOf(language);
    const inSite = (pages: readonly Page[]): SourcePage[] =>
      pages.map(({ path, title, text }) => ({ path: place + path, language, text, title }));
    const drivers = inSite(driverPages(language));
    const settings = inSite(settingPages(language));
    const titles = written
      .filter((page) => page.language === language)
      .map(({ path, text }) => [path.slice(place.length), headingOf(text)]);
    const contents: Contents = {
      pages: Object.fromEntries(titles),
      drivers: linksOf(drivers),
      settings: linksOf(settings),
      decisions,
    };
    return { language, pages: [...drivers, ...settings], contents };
  });
  const images = globSync("docs/**/*.{png,svg}", { cwd: root });
  return {
    pages: [...first, ...written, decisionPage(decisions), ...parts.flatMap(({ pages }) => pages)],
    images: Object.fromEntries(
      images.map((image) => [image.slice("docs".length), join(root, image)]),
    ),
    contents: Object.fromEntries(
      parts.map(({ language, contents }) => [language, contents]),
    ) as Record<Language, Contents>,
  };
}

/** Links to all pages but the first, which is their list. */
function linksOf(pages: readonly SourcePage[]): Link[] {
  return pages.slice(1).map(({ title = "", path }) => ({ text: title, path }));
}

function decisionPage(decisions: readonly Link[]): SourcePage {
  const list = decisions.map(({ text, path }) => `- [${text}](${path})`).join("\n");
  return { path: "/decisions/", language: "en", text: `# ${WORDS.en.decisions}\n\n${list}\n` };
}

/** The path of a page in the site, without `.md`. */
function placeOf(file: string): string {
  return OTHERS[file] ?? file.slice("docs/".length, -".md".length);
}

/** Paths in the site of the links of a file. */
function resolverOf(file: string, places: ReadonlyMap<string, string>): Resolve {
  return (href) => {
    if (/^(?:https?:|mailto:|#|\/)/.test(href)) return href;
    const [path = "", anchor] = href.split("#");
    const goal = posix.join(dirname(file), path);
    if (/\.(?:png|svg)$/.test(goal)) return goal.slice("docs".length);
    const place = /^docs\/decisions\/?$/.test(goal) ? "decisions/" : places.get(goal);
    return place && `/${place}${anchor === undefined ? "" : `#${anchor}`}`;
  };
}

/** First page: a README from its picture on, without its list of pages, below a heading with buttons. */
function firstPage(readme: string, language: Language): string {
  const { claim, tagline, buttons } = WORDS[language].first;
  const links = Object.entries(buttons).map(
    ([page, text]) => `<a class="button" href="/docs${rootOf(language)}${page}">${text}</a>`,
  );
  const hero = `<div class="hero"><h1>${claim}</h1><p>${tagline}</p><p>${links.join(" ")}</p></div>`;
  return `${hero}\n\n${readme.slice(readme.indexOf("\n!["), readme.lastIndexOf("\n## "))}\n`;
}

/** Removes the markers of generated tables. */
function withoutMarks(text: string): string {
  return text.replace(/<!-- \/?\w+ -->\n?/g, "");
}

function decisionList(root: string, files: readonly string[]): Link[] {
  return files
    .filter((file) => file.startsWith("docs/decisions/"))
    .map((file) => ({
      text: headingOf(readFileSync(join(root, file), "utf8")),
      path: `/${placeOf(file)}`,
    }));
}

/** First heading of a page. */
function headingOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? "";
}
