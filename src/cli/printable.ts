/** Control characters (C0, DEL, C1), line separators, and bidirectional control characters. */
const HOSTILE = /[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * One line that is safe to print on a terminal: control characters are escaped as in JSON.
 * Backslashes stay, because regular expressions are full of them.
 */
export function printableLine(text: string): string {
  return text.replace(HOSTILE, (character) => SHORT[character] ?? escaped(character));
}

/** Like printableLine for text with several lines: line breaks and tabs stay. */
export function printableText(text: string): string {
  return text.replace(HOSTILE, (character) =>
    character === "\n" || character === "\t" ? character : escaped(character),
  );
}

/** JSON for a terminal: the same JSON, with the characters escaped that JSON.stringify leaves. */
export function printableJson(json: string): string {
  return json.replace(HOSTILE, (character) =>
    character === "\n" ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
