import { message, type Text } from "../../messages/message.ts";
import { checkLines, type Format, unixLines } from "./format.ts";

/**
 * JavaScript regular expressions, one `/pattern/flags` per line; empty lines are ignored. Web pages
 * compile them and match them against paths.
 */
export const regexLines: Format = {
  check: (value) =>
    checkLines(value, (line) => (line.trim() === "" ? undefined : checkRegex(line.trim()))),
  normalize: unixLines,
  quotes: true,
};

/**
 * Checks one `/pattern/flags`. The pattern is compiled, never run. A pattern without slashes is
 * invalid: the web pages would read it as flags, fail, and show no folder. The flag `v` is invalid:
 * its sets of strings can take many seconds to compile, and not every browser supports it.
 */
export function checkRegex(text: string): Text | undefined {
  const match = /^\/(.*)\/([a-z]*)$/.exec(text);
  if (match === null) return message("REGEX_FORM");
  const [, pattern = "", flags = ""] = match;
  if (!/^[dgimsuy]{0,7}$/.test(flags) || new Set(flags).size < flags.length)
    return message("REGEX_FLAGS");
  try {
    new RegExp(pattern, flags);
    return undefined;
  } catch (error) {
    return message("REGEX_INVALID", { reason: reasonOf(error) });
  }
}

/** The engine's reason: the text after the last colon, without the pattern. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  return message.slice(message.lastIndexOf(": ") + 1).trim() || "it cannot be compiled";
}
