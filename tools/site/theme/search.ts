/** A section of a page in the search index. */
export interface Entry {
  /** Address below the site, with the anchor of the section. */
  readonly path: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
  /** Factor of its rank: pages about Mooring's development are below those for operators. */
  readonly weight: number;
}

/** Points for a word in a title, in a heading, in a text; for the whole heading or a key. */
const TITLE = 12;
const HEADING = 8;
const TEXT = 1;
const WHOLE = 20;
const HAN = /\p{sc=Han}/u;

/**
 * Sections that contain all words of a query, best first. A Latin word matches beginnings of words;
 * Chinese, which has no spaces, matches anywhere.
 */
export function findEntries(entries: readonly Entry[], query: string, most = 20): readonly Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const ranked = entries.flatMap((entry) => {
    const points = words.map((word) => pointsOf(entry, word));
    if (points.includes(0)) return [];
    return [{ entry, rank: entry.weight * points.reduce((sum, each) => sum + each, 0) }];
  });
  return ranked
    .sort((a, b) => b.rank - a.rank)
    .slice(0, most)
    .map(({ entry }) => entry);
}

function pointsOf({ path, title, heading, text }: Entry, word: string): number {
  const [, anchor = ""] = path.split("#");
  const isWhole = heading.toLowerCase() === word || anchor === word;
  return (
    (isWhole ? WHOLE : 0) +
    (countOf(title, word) > 0 ? TITLE : 0) +
    (countOf(heading, word) > 0 || countOf(anchor, word) > 0 ? HEADING : 0) +
    TEXT * Math.min(countOf(text, word), 5)
  );
}

/** How often a text has a word, at the beginning of a word. */
function countOf(text: string, word: string): number {
  const lower = text.toLowerCase();
  let count = 0;
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
    const before = lower[at - 1] ?? " ";
    if (HAN.test(word) || !/[\p{L}\p{N}]/u.test(before)) count += 1;
  }
  return count;
}
