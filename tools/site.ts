// Builds the documentation site into site/, or a given folder: `npm run docs:site`; `npm start` does
// it after changes. With --when-changed nothing is done while the site is newer than its sources, or
// if the packages of the build are not installed (`npm prune --omit=dev`): then it stays as it is.
import { hash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Language } from "../src/messages/language.ts";
import { isStale } from "./built.ts";

const root = resolve(import.meta.dirname, "..");
const theme = join(import.meta.dirname, "site/theme");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "when-changed": { type: "boolean", default: false } },
});
const target = resolve(positionals[0] ?? join(root, "site"));

const sources = [
  "docs/**",
  "*.md",
  "package.json",
  "tools/{site,built}.ts",
  "tools/site/**",
  "src/data/**",
];
/** Written last. */
const LAST = join(target, "site.json");
if (!values["when-changed"] || (canBuild() && isStale(LAST, root, sources))) await build();

function canBuild(): boolean {
  return ["marked", "rolldown"].every((name) => existsSync(join(root, "node_modules", name)));
}

async function build(): Promise<void> {
  const { LANGUAGES, siteContent } = await import("./site/content.ts");
  const { pageHtml } = await import("./site/layout.ts");
  const { renderMarkdown } = await import("./site/markdown.ts");
  const { navigation, rootOf } = await import("./site/navigation.ts");
  const { publish } = await import("./site/publish.ts");
  const { searchIndex } = await import("./site/search-index.ts");
  const { WORDS } = await import("./site/words.ts");

  rmSync(target, { recursive: true, force: true });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { pages, images, contents } = siteContent(root);
  for (const [path, file] of Object.entries(images)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    copyFileSync(file, join(target, path));
  }
  const rendered = pages.map((page) => {
    const { html, headings } = renderMarkdown(page.text, page.path, page.resolve);
    const title = page.title ?? headings.find(({ level }) => level === 1)?.text ?? "";
    return { ...page, html, headings, title };
  });
  const paths = new Set(rendered.map(({ path }) => path));
  const files = await themeFiles();
  for (const language of LANGUAGES) {
    const sections = searchIndex(language, rendered);
    const index = asset(`search-${language}`, "json", JSON.stringify(sections));
    const { header, sidebar } = navigation(language, contents);
    const write = (name: string, page: Omit<(typeof rendered)[number], "text">): void => {
      const html = pageHtml({
        ...page,
        header,
        sidebar: sidebar(page.path),
        other: counterpart(page.path, language, paths, rootOf),
        version,
        assets: { ...files, index },
      });
      mkdirSync(dirname(join(target, name)), { recursive: true });
      writeFileSync(join(target, name), html);
    };
    for (const page of rendered.filter((one) => one.language === language))
      write(`${page.path.slice(1)}${page.path.endsWith("/") ? "index" : ""}.html`, page);
    const { missing: title } = WORDS[language].frame;
    if (language === "en")
      write("404.html", { path: "/", language, title, html: `<h1>${title}</h1>`, headings: [] });
  }
  await publish(target);
}

/** The page in the other language, or its first page. */
function counterpart(
  path: string,
  language: Language,
  paths: ReadonlySet<string>,
  rootOf: (language: Language) => string,
): string {
  const other = language === "en" ? "zh-CN" : "en";
  const place = path.slice(rootOf(language).length);
  const same = `${rootOf(other)}${place}`;
  return paths.has(same) ? same : rootOf(other);
}

/** Writes scripts and styles. @returns their addresses. */
async function themeFiles() {
  const { rolldown } = await import("rolldown");
  const script = async (name: string): Promise<string> => {
    await using bundle = await rolldown({ input: join(theme, `${name}.ts`) });
    const { output } = await bundle.generate({ minify: true });
    return asset(name, "js", output[0].code);
  };
  return {
    appearance: await script("appearance"),
    script: await script("site"),
    style: asset("site", "css", readFileSync(join(theme, "site.css"), "utf8")),
  };
}

/** Writes a file whose name changes with its content. @returns its address. */
function asset(name: string, extension: string, text: string): string {
  const file = `assets/${name}.${hash("sha256", text).slice(0, 10)}.${extension}`;
  mkdirSync(join(target, "assets"), { recursive: true });
  writeFileSync(join(target, file), text);
  return `/docs/${file}`;
}
