import { textOf } from "./markdown.ts";
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
/** Begins what is on every page of a driver, and found on a page of its own. */
const REST = "<!-- rest -->";

/** The sections of a page for the search: each heading with the text up to the next. */
export function entriesOf(path: string, title: string, html: string): Entry[] {
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
