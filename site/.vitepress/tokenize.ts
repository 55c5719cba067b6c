/** What separates words, as MiniSearch has it by default. */
const BETWEEN = /[\n\r\p{Z}\p{P}]+/u;
const HAN = /(\p{sc=Han}+)/u;

/**
 * Words of a text for the search index. Chinese has no spaces: of each run of characters, every two
 * neighbours are a word, and a single character is one.
 */
export function tokenize(text: string): string[] {
  return text
    .split(BETWEEN)
    .flatMap((word) => word.split(HAN))
    .flatMap((part) => (HAN.test(part) ? pairsOf([...part]) : part === "" ? [] : [part]));
}

function pairsOf(characters: readonly string[]): string[] {
  if (characters.length === 1) return [...characters];
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}
