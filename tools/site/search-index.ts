import type { Language } from "../../src/messages/language.ts";
import { textOf } from "./markdown.ts";
import { rootOf } from "./navigation.ts";
import type { Entry } from "./theme/search.ts";

/** Weights of pages about Mooring's own development, by the beginning of their paths. */
const WEIGHTS: Readonly<Record<string, number>> = {
  "decisions/": 0.05,
  changelog: 0.2,
  contributing: 0.3,
  architecture: 0.3,
  attack: 0.3,
  dependencies: 0.3,
  performance: 0.3,
};
/** Factor of English pages in the search of another language. */
const UNTRANSLATED = 0.5;
/** Begins what is on every page of a driver, and found on a page of its own. */
const REST = "<!-- rest -->";

/** A rendered page. */
export interface SearchedPage {
  /** Path in the site, such as `/driver/s3`. */
  readonly path: string;
  readonly language: Language;
  readonly title: string;
  readonly html: string;
}

/**
 * What the search of a language finds: its pages, and below them the English pages that are not
 * translated, without decision records.
 */
export function searchIndex(language: Language, pages: readonly SearchedPage[]): Entry[] {
  const paths = new Set(pages.map(({ path }) => path));
  const isTranslated = ({ path }: SearchedPage): boolean =>
    paths.has(rootOf(language) + path.slice(1));
  const others = pages.filter(
    (page) => page.language === "en" && !isTranslated(page) && !page.path.startsWith("/decisions/"),
  );
  return [
    ...pages.filter((page) => page.language === language).flatMap(entriesOf),
    ...others
      .flatMap(entriesOf)
      .map((entry) => ({ ...entry, weight: entry.weight * UNTRANSLATED })),
  ];
}

/** The sections of a page for the search: each heading with the text up to the next. */
function entriesOf({ path, title, html }: SearchedPage): Entry[] {
  const place = path.slice(1);
  const [, weight = 1] = Object.entries(WEIGHTS).find(([begin]) => place.startsWith(begin)) ?? [];
  const [own = ""] = html.split(REST);
  return own.split(/(?=<h[1-3][ >])/).flatMap((section) => {
    const [whole = "", , id = "", inner = ""] =
      /^<h([1-3])(?: id="([^"]*)")?[^>]*>(.*?)<\/h\1>/s.exec(section) ?? [];
    const text = textOf(section.slice(whole.length));
    const heading = textOf(inner);
    if (text === "" && heading === "") return [];
    const isTop = heading === title || id === "";
    return [{ path: isTop ? place : `${place}#${id}`, title, heading, text, weight }];
  });
}
