import type { Language } from "../../src/messages/language.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import { BASE, type Heading } from "./markdown.ts";
import { type Link, rootOf, type Section } from "./navigation.ts";
import { WORDS } from "./words.ts";

/** Parts of a page. */
export interface PageParts {
  readonly path: string;
  readonly language: Language;
  readonly title: string;
  /** The content, as HTML. */
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly header: readonly Link[];
  readonly sidebar: readonly Section[];
  /** Path of the page in the other language. */
  readonly other: string;
  readonly version: string;
  /** Addresses of files. */
  readonly assets: Readonly<Record<"appearance" | "script" | "style" | "index", string>>;
}

const NAMES: Readonly<Record<Language, string>> = { en: "English", "zh-CN": "简体中文" };

/** A whole page. Its addresses are absolute, below {@link BASE}. */
export function pageHtml(page: PageParts): string {
  const { language, title, html, assets, version } = page;
  const { frame } = WORDS[language];
  const other: Language = language === "en" ? "zh-CN" : "en";
  const name = title === "Mooring" ? title : `${title} | Mooring`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(frame.description)}">
<title>${escapeHtml(name)}</title>
<script src="${assets.appearance}"></script>
<link rel="stylesheet" href="${assets.style}">
<script type="module" src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#content">${escapeHtml(title)}</a>
<header>
<button id="menu" type="button" aria-expanded="false">${frame.menu}</button>
<a class="brand" href="${BASE}${rootOf(language)}">Mooring</a>
<div class="links">${page.header.map(anchor).join("")}<a href="${BASE}/changelog">${version}</a></div>
<div class="search" role="search"><input id="search" type="search" autocomplete="off" placeholder="${frame.search}" aria-label="${frame.search}" data-index="${assets.index}" data-root="${BASE}/" data-none="${frame.noResults}"><ul id="results" class="results" hidden></ul></div>
<a class="language" href="${BASE}${page.other}" hreflang="${other}" lang="${other}">${NAMES[other]}</a>
<button id="appearance" type="button" aria-label="${frame.appearance}">◐</button>
</header>
<div class="frame">
<nav aria-label="${frame.menu}">${page.sidebar.map((section) => sectionHtml(section, page.path)).join("")}</nav>
<main id="content">
${html}</main>
${outlineHtml(page)}
</div>
</body>
</html>
`;
}

function anchor({ text, path }: Link): string {
  return `<a href="${BASE}${path}">${escapeHtml(text)}</a>`;
}

function sectionHtml({ text, links, folded = false }: Section, current: string): string {
  const isOpen = !folded || links.some(({ path }) => path === current);
  const items = links.map(({ text: shown, path }) => {
    const mark = path === current ? ' aria-current="page"' : "";
    return `<li><a href="${BASE}${path}"${mark}>${escapeHtml(shown)}</a></li>`;
  });
  const state = isOpen ? " open" : "";
  return `<details${state}><summary>${escapeHtml(text)}</summary><ul class="sections">${items.join("")}</ul></details>`;
}

function outlineHtml({ language, headings }: PageParts): string {
  const items = headings
    .filter(({ level, id }) => level === 2 && id !== "")
    .map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`);
  if (items.length < 2) return "";
  return `<aside class="outline"><p>${WORDS[language].frame.onThisPage}</p><ul>${items.join("")}</ul></aside>`;
}
