import { type Format, unixLines } from "./format.ts";
import { checkLines } from "./line.ts";
import { checkRe2 } from "./re2-syntax.ts";

/**
 * Regular expressions in the RE2 syntax of Go, one a line; an empty line is an empty expression and
 * does nothing. Servers in Go compile them; here they are only read, never run.
 */
export const re2Lines: Format = {
  check: (value) => checkLines(value, checkRe2),
  normalize: unixLines,
  quotes: true,
};
