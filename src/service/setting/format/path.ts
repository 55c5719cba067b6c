import { type Format, quoted, unixLines } from "./format.ts";
import { checkLines } from "./line.ts";

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
