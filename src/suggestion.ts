import { distance as editDistance } from "fastest-levenshtein";

/**
 * Length to which a requested name is truncated for the comparison; names have at most 64 code
 * points.
 */
const COMPARED = 64;

/** Maximum number of similar names. */
const NEAREST = 3;

/**
 * Candidates similar to `word`, or equal to it, best first, at most three. A candidate is similar if it differs
 * only in case, spaces or punctuation, if one is a prefix of the other, if two adjacent letters are
 * swapped, or if the edit distance is at most one, or a third of the letters of the longer one.
 */
export function nearest(word: string, candidates: Iterable<string>): string[] {
  const asked = fold(word.slice(0, COMPARED));
  if (asked === "") return [];
  const ranked: { name: string; distance: number }[] = [];
  for (const name of candidates) {
    const distance = distanceOf(asked, fold(name));
    if (distance !== undefined) ranked.push({ name, distance });
  }
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked.slice(0, NEAREST).map(({ name }) => name);
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

function distanceOf(asked: string, candidate: string): number | undefined {
  if (asked === candidate) return 0;
  const prefix = candidate.startsWith(asked) || (candidate !== "" && asked.startsWith(candidate));
  // A prefix ranks between equal and edited names: after a wrong case, it is the most likely
  // mistake.
  if (prefix && Math.min(asked.length, candidate.length) >= 2) return 0.5;
  if (isSwapped(asked, candidate)) return 1;
  const longest = Math.max(asked.length, candidate.length);
  const allowed = Math.max(1, Math.floor(longest / 3));
  const edits = editDistance(asked, candidate);
  return edits <= allowed && edits < longest ? edits : undefined;
}

/** Reports whether two texts differ by one swap of adjacent letters, the most common typing error. */
function isSwapped(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return (
    one[at] === other[at + 1] &&
    one[at + 1] === other[at] &&
    one.slice(at + 2) === other.slice(at + 2)
  );
}

/**
 * End of a sentence about an unknown name: `: did you mean NAME?`, or `otherwise` if no known name is
 * similar. Default of `otherwise`: empty.
 */
export function suggestion(word: string, known: Iterable<string>, otherwise = ""): string {
  const [name] = nearest(word, known);
  return name === undefined ? otherwise : `: did you mean ${name}?`;
}
