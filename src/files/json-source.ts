/*
 * JSON parser that records the position of each value, so that errors in a file have line and
 * column. JSON.parse has no positions of values, not always those of syntax errors, and silently
 * uses the last one of equal members. The grammar is kept in one file.
 */

/** Position in a text as in editors: both members count from 1, the column in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Steps from the root value: member names and array indexes. */
export type JsonPath = readonly (string | number)[];

/** Parsed text with the positions of its parts. */
export interface JsonSource {
  readonly value: unknown;
  /**
   * Position of the value at `path`, or of its member name when `at` is "name". For a path that
   * does not exist: the nearest existing parent.
   */
  readonly positionOf: (path: JsonPath, at?: "name" | "value") => Position;
}

/** Error for text that is not JSON (RFC 8259) or is nested too deeply. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly position: Position;

  constructor(reason: string, position: Position) {
    super(reason);
    this.position = position;
  }
}

interface Offset {
  readonly name: number;
  readonly value: number;
}

/** Offsets of the members of each object and the elements of each array. */
type Offsets = WeakMap<object, Map<string | number, Offset>>;

/**
 * Parses one JSON text. Equal member names in one object are an error.
 *
 * @param maxDepth - maximum nesting of arrays and objects.
 * @throws JsonSyntaxError at the first invalid character.
 */
export function parseJson(text: string, maxDepth: number): JsonSource {
  const offsets: Offsets = new WeakMap();
  const reader = createReader(text, maxDepth, offsets);
  const { value, start } = reader.document();
  return {
    value,
    positionOf: (path, at = "value") =>
      positionAt(text, offsetOf({ value, start }, offsets, path, at)),
  };
}

function createReader(text: string, maxDepth: number, offsets: Offsets) {
  let at = 0;

  function fail(reason: string, offset = at): never {
    throw new JsonSyntaxError(reason, positionAt(text, offset));
  }

  function found(): string {
    const character = text.codePointAt(at);
    return character === undefined
      ? "the file ends here"
      : `found ${JSON.stringify(String.fromCodePoint(character))}`;
  }

  function skipSpace(): void {
    while (" \t\n\r".includes(text[at] ?? "x")) at += 1;
  }

  function take(character: string): boolean {
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }

  function token(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const [match] = pattern.exec(text) ?? [];
    at += match?.length ?? 0;
    return match;
  }

  function string(): string {
    const start = at;
    const quoted = token(/"(?:[^"\\\n]|\\.)*"/y);
    if (quoted === undefined) fail("this text has no closing quote on its line", start);
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return fail("this text has a control character or an invalid escape", start);
    }
  }

  function scalar(): unknown {
    if (text[at] === '"') return string();
    const start = at;
    const word = token(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (word === undefined || /[\w.+-]/.test(text[at] ?? "")) {
      at = start;
      fail(`expected a value, ${found()}`);
    }
    return JSON.parse(word);
  }

  function members(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    const parts = new Map<string | number, Offset>();
    offsets.set(object, parts);
    at += 1;
    skipSpace();
    if (take("}")) return object;
    do {
      skipSpace();
      const name = at;
      if (text[at] !== '"') fail(`expected a member name in double quotes, ${found()}`);
      const key = string();
      if (parts.has(key)) fail(`member ${JSON.stringify(key)} occurs a second time here`, name);
      skipSpace();
      if (!take(":")) fail(`expected ":" after the member name, ${found()}`);
      skipSpace();
      parts.set(key, { name, value: at });
      // Defined instead of assigned: "__proto__" is an ordinary member here.
      const value = anything(depth);
      Object.defineProperty(object, key, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
      skipSpace();
    } while (take(","));
    if (!take("}")) fail(`expected "," or "}", ${found()}`);
    return object;
  }

  function elements(depth: number): unknown[] {
    const array: unknown[] = [];
    const parts = new Map<string | number, Offset>();
    offsets.set(array, parts);
    at += 1;
    skipSpace();
    if (take("]")) return array;
    do {
      skipSpace();
      parts.set(array.length, { name: at, value: at });
      array.push(anything(depth));
      skipSpace();
    } while (take(","));
    if (!take("]")) fail(`expected "," or "]", ${found()}`);
    return array;
  }

  function anything(depth: number): unknown {
    const opening = text[at];
    if (opening !== "{" && opening !== "[") return scalar();
    if (depth === maxDepth) fail(`more than ${maxDepth} levels of nested arrays and objects`);
    return opening === "{" ? members(depth + 1) : elements(depth + 1);
  }

  function document(): { value: unknown; start: number } {
    skipSpace();
    const start = at;
    const value = anything(0);
    skipSpace();
    if (at < text.length) fail(`expected the end of the file, ${found()}`);
    return { value, start };
  }

  return { document };
}

function offsetOf(
  root: { value: unknown; start: number },
  offsets: Offsets,
  path: JsonPath,
  at: "name" | "value",
): number {
  let value = root.value;
  let offset: Offset = { name: root.start, value: root.start };
  for (const step of path) {
    const next =
      typeof value === "object" && value !== null ? offsets.get(value)?.get(step) : undefined;
    if (next === undefined) return offset.value;
    offset = next;
    value = (value as Record<string | number, unknown>)[step];
  }
  return offset[at];
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf("\n");
  return { line: before.split("\n").length, column: offset - lastBreak };
}
