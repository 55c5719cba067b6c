import type { JsonPath, Position } from "../files/json-source.ts";

/** Something wrong in a parsed file, before its place in the text is known. */
export interface Finding {
  readonly path: JsonPath;
  /** Description of the problem and its cure, continuing the member's name: `must be …`. */
  readonly reason: string;
  /** The member's name is the trouble, not its value. */
  readonly atName?: boolean;
}

/** Something wrong in a driver file, for a person who is going to repair it. */
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

/** `file:line:column: member reason`, which terminals and editors make a link of. */
function problemText({ file, line, column, member, reason }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return `${place}: ${member === "" ? "" : `${member} `}${reason}`;
}

/** A problem of a file as a whole, where no line can be named. */
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
