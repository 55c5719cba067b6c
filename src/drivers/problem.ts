import type { JsonPath, Position } from "../files/json-source.ts";

/** Problem of a parsed file, before its position in the text is known. */
export interface Finding {
  readonly path: JsonPath;
  /** Description of the problem and its remedy, continuing the member's name: `must be …`. */
  readonly reason: string;
  /** Whether the problem is the member's name instead of its value. */
  readonly atName?: boolean;
}

/** Problem of a driver file, for its author. */
export interface Problem extends Position {
  /** The file as given to the reader: a path or a name. */
  readonly file: string;
  /** Such as `additional[3].default`; empty for the whole file. */
  readonly member: string;
  readonly reason: string;
}

/** One or more invalid driver files. The message has a line per problem. */
export class DriverFileError extends Error {
  override readonly name = "DriverFileError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemText).join("\n"));
    this.problems = problems;
  }
}

/** `file:line:column: member reason`, which terminals and editors show as a link. */
function problemText({ file, line, column, member, reason }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return `${place}: ${member === "" ? "" : `${member} `}${reason}`;
}

/** Problem of a file as a whole, without a line. */
export function wholeFile(file: string, reason: string): Problem {
  return { file, line: 0, column: 0, member: "", reason };
}

/** `["additional", 3, "default"]` as `additional[3].default`. */
export function memberName(path: JsonPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}
