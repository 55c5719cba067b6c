import type { Text } from "../../messages/message.ts";
import { type Message, message } from "../../messages/message.ts";
/** Format of a setting's values in addition to its type, such as a list or a URL. */
export interface Format {
  /**
   * Checks a value in linear time. Never throws.
   *
   * @returns the problem and the valid form; undefined: valid.
   */
  readonly check: (value: string) => Text | undefined;
  /** Normalizes a value before it is checked and stored. Default: unchanged. */
  readonly normalize?: (value: string) => string;
  /**
   * Whether messages may quote a part of the value. Such a format is not allowed for secret
   * settings.
   */
  readonly quotes: boolean;
}

/** Converts line breaks of Windows to line feeds. */
export function unixLines(value: string): string {
  // Several carriage returns, too: otherwise a normalized value is not normal.
  return value.replace(/\r+\n/g, "\n");
}

/** Escapes and truncates a part of a value for a message. */
export function quoted(part: string): string {
  const SHOWN = 40;
  return part.length > SHOWN ? `${JSON.stringify(part.slice(0, SHOWN))}…` : JSON.stringify(part);
}

/** Maximum number of lines of a value. */
const MAX_LINES = 1_000;
/**
 * Maximum length of a line in UTF-16 units, which limits the cost of compiling a regular
 * expression.
 */
const MAX_LINE = 4_096;
/** Maximum number of invalid lines in a message. */
const MAX_NAMED = 5;

/**
 * Checks a value line by line.
 *
 * @param checkLine - returns the problem of one line, to which the line number is added.
 */
export function checkLines(
  value: string,
  checkLine: (line: string) => Text | undefined,
): Text | undefined {
  const lines = value.split("\n");
  if (lines.length > MAX_LINES)
    return message("TOO_MANY_LINES", { count: lines.length, most: MAX_LINES });
  const problems = lines.flatMap((line, at) => {
    const problem = checkLength(line) ?? checkLine(line);
    return problem === undefined ? [] : [message("LINE_PROBLEM", { line: at + 1, problem })];
  });
  return summary(problems);
}

function checkLength(line: string): Text | undefined {
  return line.length > MAX_LINE
    ? message("LINE_TOO_LONG", { count: line.length, most: MAX_LINE })
    : undefined;
}

/** Message with the first problems and the number of further ones. */
function summary(problems: readonly Message[]): Message | undefined {
  const count = problems.length - MAX_NAMED;
  const named = problems.slice(0, MAX_NAMED);
  if (count === 1) named.push(message("ONE_MORE_LINE"));
  if (count > 1) named.push(message("MORE_LINES", { count }));
  const [last, ...before] = named.reverse();
  return before.reduce(
    (more, problem) => more && message("MORE_PROBLEMS", { problem, more }),
    last,
  );
}
