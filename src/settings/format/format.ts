import type { Text } from "../../messages/message.ts";
import { type Message, message } from "../../messages/message.ts";
/** A form that the values of a setting have beyond its type, such as a list or a URL. */
export interface Format {
  /**
   * Checks a value; it never throws, and its work grows with the value's length only.
   *
   * @returns what is wrong and what would be right, for a person; undefined when nothing is.
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

/** Line breaks of Windows become those of everything else. */
export function unixLines(value: string): string {
  return value.replaceAll("\r\n", "\n");
}

/** A part of a value as a message shows it: escaped and short. */
export function quoted(part: string): string {
  const SHOWN = 40;
  return part.length > SHOWN ? `${JSON.stringify(part.slice(0, SHOWN))}…` : JSON.stringify(part);
}

/** Lines of one value at most. */
const MAX_LINES = 1_000;
/** UTF-16 units of one line at most. It bounds what one regular expression can cost to compile. */
const MAX_LINE = 4_096;
/** Wrong lines that a message names. */
const MAX_NAMED = 5;

/**
 * Checks a value line by line.
 *
 * @param checkLine - what is wrong with one line; its number is put in front.
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

/** The first problems as one message, and how many there are besides. */
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
