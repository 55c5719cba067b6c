import { checkLines, type Format, quoted, unixLines } from "./format.ts";

/** Items of one list at most. */
const MAX_ITEMS = 1_000;
/** UTF-16 units of one item at most. */
const MAX_ITEM = 255;

/**
 * Items separated by commas; empty text is the empty list. Who reads a list splits it at commas and
 * compares what is between them, spaces included, so spaces around items are taken off, and an
 * empty item is refused because it would match files without an extension.
 */
export const list: Format = {
  check: checkList,
  normalize: (value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .join(","),
  quotes: true,
};

function checkList(value: string): string | undefined {
  if (value === "") return undefined;
  const items = value.split(",");
  if (items.length > MAX_ITEMS)
    return `has ${items.length} items; at most ${MAX_ITEMS} are possible`;
  for (const [at, item] of items.entries()) {
    const problem = checkItem(item);
    if (problem !== undefined)
      return `must be a list separated by commas, but item ${at + 1} ${problem}`;
  }
  return undefined;
}

function checkItem(item: string): string | undefined {
  if (item === "") return "is empty: remove the comma too many";
  if (item.trim() !== item) return `has white space around it: ${quoted(item)}`;
  if (item.length > MAX_ITEM)
    return `has ${item.length} characters; at most ${MAX_ITEM} are possible`;
  if (/\p{Cc}/u.test(item)) return `has a line break or control character: ${quoted(item)}`;
  return undefined;
}

/**
 * Paths of the site, one a line. Who reads them compares the beginning of a path with each line, so
 * an empty line would stand for everything: normalizing takes those out, with white space around
 * paths.
 */
export const pathLines: Format = {
  check: (value) => (value === "" ? undefined : checkLines(value, checkPath)),
  normalize: (value) =>
    unixLines(value)
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
      .join("\n"),
  quotes: true,
};

function checkPath(line: string): string | undefined {
  if (line === "") return "is empty, which would stand for every path: remove it";
  return line.startsWith("/") ? undefined : `must begin with a slash: ${quoted(line)}`;
}
