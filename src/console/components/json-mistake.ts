import { jsonErrorOffset } from "../../json-error.ts";

/** Position of a syntax error in JSON. Line and column begin at 1, `at` at 0. */
export interface Mistake {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/** @returns the position of the first mistake; undefined when the text is JSON. */
export function mistakeOf(text: string): Mistake | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return placeOf(text, jsonErrorOffset(text));
  }
}

function placeOf(text: string, at: number): Mistake {
  const before = text.slice(0, at).split("\n");
  return { at, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
