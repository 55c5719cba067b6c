import {
  type JsonPath,
  type JsonSource,
  JsonSyntaxError,
  type Position,
  parseJson,
} from "../files/json-source.ts";
import { LIMITS } from "./limits.ts";

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
function memberName(path: JsonPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}

/** Content of a file, with its path or name for messages. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /**
   * Whether the file belongs to the program and is checked by a test: it is parsed ten times as
   * fast, but duplicate members are not detected. Default: false.
   */
  readonly trusted?: boolean;
  /**
   * Whether a test checks the file, so that only its JSON syntax is checked here. Default: false.
   */
  readonly checked?: boolean;
}

/**
 * Parses a driver file's text.
 *
 * @throws DriverFileError at the first invalid character.
 */
export function parseSource(source: SourceText): JsonSource {
  try {
    return (
      (source.trusted ? parseFast(source.text) : undefined) ?? parseJson(source.text, LIMITS.depth)
    );
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { message: reason, position } = error;
    throw new DriverFileError([{ file: source.file, ...position, member: "", reason }]);
  }
}

/** Positions for problems are found by a second, slower parse. */
function parseFast(text: string): JsonSource | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return { value, positionOf: (path, at) => positionIn(text, path, at) };
  } catch {
    return undefined;
  }
}

function positionIn(text: string, path: JsonPath, at?: "name" | "value"): Position {
  try {
    return parseJson(text, LIMITS.depth).positionOf(path, at);
  } catch (error) {
    // A duplicate member, which the fast parser has accepted.
    if (error instanceof JsonSyntaxError) return error.position;
    throw error;
  }
}

/** @throws DriverFileError with the findings and their positions, if there are any. */
export function stopAt(findings: readonly Finding[], { file }: SourceText, json: JsonSource): void {
  if (findings.length === 0) return;
  const problems = findings.slice(0, LIMITS.problems).map(({ path, reason, atName }) => ({
    file,
    ...json.positionOf(path, atName ? "name" : "value"),
    member: memberName(path),
    reason,
  }));
  const more = findings.length - problems.length;
  if (more > 0) problems.push({ ...wholeFile(file, `and ${more} more`) });
  throw new DriverFileError(problems);
}
