/** Position of a syntax error in JSON. Line and column begin at 1, `at` at 0. */
export interface Mistake {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/**
 * Token of JSON (RFC 8259). A scan is used because browsers report the position in different texts.
 */
const TOKEN =
  /[\t\n\r ]*(?:([{}[\],:])|("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;

/** @returns the position of the first mistake; undefined when the text is JSON. */
export function mistakeOf(text: string): Mistake | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return placeOf(text, scan(text));
  }
}

type Expected = "value" | "name" | "colon" | "next";

/** Scans a text. @returns the offset of the first mistake. */
function scan(text: string): number {
  const open: string[] = [];
  let expected: Expected = "value";
  let fresh = false;
  TOKEN.lastIndex = 0;
  for (;;) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(text);
    if (token === null) return from + (/^[\t\n\r ]*/.exec(text.slice(from))?.[0].length ?? 0);
    const [whole, mark = "", string] = token;
    const at = from + whole.length - whole.trimStart().length;
    const closes = mark !== "" && mark === open.at(-1);
    if (closes && (expected === "next" || fresh)) {
      open.pop();
      expected = "next";
      fresh = false;
    } else if (expected === "value" && (mark === "{" || mark === "[")) {
      open.push(mark === "{" ? "}" : "]");
      expected = mark === "{" ? "name" : "value";
      fresh = true;
    } else if (expected === "value" && mark === "") {
      expected = "next";
      fresh = false;
    } else if (expected === "name" && string !== undefined) {
      expected = "colon";
      fresh = false;
    } else if (expected === "colon" && mark === ":") expected = "value";
    else if (expected === "next" && mark === "," && open.length > 0)
      expected = open.at(-1) === "}" ? "name" : "value";
    else return at;
  }
}

function placeOf(text: string, at: number): Mistake {
  const before = text.slice(0, at).split("\n");
  return { at, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
