import { Lexer } from "yaml";

/** Maximum number of tokens of a file: parsing it takes a third of a second in one tick. */
const MAX_TOKENS = 150_000;

/**
 * Problem of a YAML text with more tokens than are parsed, whatever its length; undefined: none. A
 * key with its value has about eight tokens.
 */
export function yamlSizeProblem(text: string): string | undefined {
  // Shorter texts cannot have more tokens.
  if (text.length <= MAX_TOKENS / 2) return undefined;
  let count = 0;
  for (const _token of new Lexer().lex(text)) {
    count += 1;
    if (count > MAX_TOKENS)
      return `the file has more than ${MAX_TOKENS} words, marks and line breaks, so it is not read: shorten it`;
  }
  return undefined;
}
