import type { Text } from "../../messages/message.ts";
import { message } from "../../messages/message.ts";
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

function checkList(value: string): Text | undefined {
  if (value === "") return undefined;
  const items = value.split(",");
  if (items.length > MAX_ITEMS)
    return message("TOO_MANY_ITEMS", { count: items.length, most: MAX_ITEMS });
  for (const [at, item] of items.entries()) {
    const problem = checkItem(item);
    if (problem !== undefined) return message("LIST_ITEM_PROBLEM", { item: at + 1, problem });
  }
  return undefined;
}

function checkItem(item: string): Text | undefined {
  if (item === "") return message("LIST_ITEM_EMPTY");
  if (item.trim() !== item) return message("ITEM_WHITE_SPACE", { value: quoted(item) });
  if (item.length > MAX_ITEM)
    return message("LINE_TOO_LONG", { count: item.length, most: MAX_ITEM });
  if (/\p{Cc}/u.test(item)) return message("ITEM_LINE_BREAK", { value: quoted(item) });
  return undefined;
}

/**
 * Paths of the site, one per line. Readers compare the beginning of a path with each line, so an
 * empty line would match every path: normalization removes empty lines and white space around
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

function checkPath(line: string): Text | undefined {
  if (line === "") return message("PATH_EMPTY");
  return line.startsWith("/") ? undefined : message("PATH_WITHOUT_SLASH", { value: quoted(line) });
}
