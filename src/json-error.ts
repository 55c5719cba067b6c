/** Expected next token of a document. */
type Expected = "value" | "value or ]" | "name" | "name or }" | ":" | ", or end";

/**
 * Finds the first syntax error of a JSON text (RFC 8259), without recursion. JSON.parse gives positions
 * for some errors only, in words that change with the engine.
 *
 * @param text - must be invalid. @returns the offset of the first wrong character.
 */
export function jsonErrorOffset(text: string): number {
  const open: string[] = [];
  let expected: Expected | undefined = "value";
  let offset = 0;
  for (;;) {
    offset = skipSpace(text, offset);
    const char = text[offset] ?? "";
    const next: Step | undefined = nextStep(text, offset, expected, open);
    if (next === undefined || char === "") return offset;
    if (!next.complete) return next.end;
    offset = next.end;
    expected = next.expected;
  }
}

/** One token: its end, whether it is complete, and the tokens that may follow. */
interface Step {
  readonly end: number;
  readonly complete: boolean;
  readonly expected: Expected;
}

function nextStep(
  text: string,
  offset: number,
  expected: Expected,
  open: string[],
): Step | undefined {
  const char = text[offset] ?? "";
  const step = (next: Expected): Step => ({ end: offset + 1, complete: true, expected: next });
  if (closes(char, expected, open)) {
    open.pop();
    return step(", or end");
  }
  if (expected === ", or end") {
    if (char !== "," || open.length === 0) return undefined;
    return step(open.at(-1) === "{" ? "name" : "value");
  }
  if (expected === ":") return char === ":" ? step("value") : undefined;
  if (expected === "name" || expected === "name or }") {
    return char === '"' ? readString(text, offset, ":") : undefined;
  }
  if (char !== "[" && char !== "{") return readScalar(text, offset);
  open.push(char);
  return step(char === "{" ? "name or }" : "value or ]");
}

function closes(char: string, expected: Expected, open: readonly string[]): boolean {
  if (char === "]") {
    return open.at(-1) === "[" && (expected === "value or ]" || expected === ", or end");
  }
  if (char !== "}" || open.at(-1) !== "{") return false;
  return expected === "name or }" || expected === ", or end";
}

function readScalar(text: string, offset: number): Step | undefined {
  if (text[offset] === '"') return readString(text, offset, ", or end");
  for (const word of ["true", "false", "null"]) {
    if (text[offset] === word[0]) return readWord(text, offset, word);
  }
  return readNumber(text, offset);
}

function readWord(text: string, offset: number, word: string): Step {
  let length = 0;
  while (length < word.length && text[offset + length] === word[length]) length++;
  return { end: offset + length, complete: length === word.length, expected: ", or end" };
}

function readNumber(text: string, offset: number): Step | undefined {
  const pattern = /-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)e[+-]?\d*)?/iy;
  pattern.lastIndex = offset;
  const found = pattern.exec(text)?.[0] ?? "";
  if (found === "") return undefined;
  return { end: offset + found.length, complete: /\d$/.test(found), expected: ", or end" };
}

function readString(text: string, offset: number, expected: Expected): Step {
  let end = offset + 1;
  for (;;) {
    const char = text[end];
    if (char === undefined || char < " ") return { end, complete: false, expected };
    if (char === '"') return { end: end + 1, complete: true, expected };
    end++;
    if (char !== "\\") continue;
    const length = escapeLength(text, end);
    if (length === 0) return { end, complete: false, expected };
    end += length;
  }
}

function escapeLength(text: string, offset: number): number {
  if ('"\\/bfnrt'.includes(text[offset] ?? " ")) return 1;
  return /^u[0-9a-f]{4}$/i.test(text.slice(offset, offset + 5)) ? 5 : 0;
}

function skipSpace(text: string, offset: number): number {
  SPACE.lastIndex = offset;
  return SPACE.test(text) ? SPACE.lastIndex : offset;
}

const SPACE = /[ \t\n\r]+/y;

/**
 * Describes the first syntax error of an invalid JSON text, for instance `line 2, column 7: unexpected
 * "}"`. Only the wrong character is quoted.
 */
export function jsonErrorText(text: string): string {
  const offset = jsonErrorOffset(text);
  const found = text.codePointAt(offset);
  const what =
    found === undefined
      ? "it ends too early"
      : `unexpected ${JSON.stringify(String.fromCodePoint(found))}`;
  return `${jsonPositionText(text, offset)}: ${what}`;
}

/** Describes a position in a text, for instance `line 2, column 7`. */
export function jsonPositionText(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  // A character beyond U+FFFF is two units and one column.
  const column = Array.from(lines.at(-1) ?? "").length + 1;
  return `line ${lines.length}, column ${column}`;
}
