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
  checkLine: (line: string) => string | undefined,
): string | undefined {
  const lines = value.split("\n");
  if (lines.length > MAX_LINES)
    return `has ${lines.length} lines; at most ${MAX_LINES} are possible`;
  const problems = lines.flatMap((line, at) => {
    const problem = checkLength(line) ?? checkLine(line);
    return problem === undefined ? [] : [`line ${at + 1} ${problem}`];
  });
  return problems.length === 0 ? undefined : summary(problems);
}

function checkLength(line: string): string | undefined {
  return line.length > MAX_LINE
    ? `has ${line.length} characters; at most ${MAX_LINE} are possible`
    : undefined;
}

function summary(problems: readonly string[]): string {
  const more = problems.length - MAX_NAMED;
  const named = problems.slice(0, MAX_NAMED).join("; ");
  if (more <= 0) return named;
  return `${named}; and ${more} more ${more === 1 ? "line is" : "lines are"} wrong`;
}
