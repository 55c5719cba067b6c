import {
  type JsonPath,
  type JsonSource,
  JsonSyntaxError,
  type Position,
  parseJson,
} from "../files/json-source.ts";
import { LIMITS } from "./limits.ts";
import { DriverFileError, type Finding, memberName, wholeFile } from "./problem.ts";

/** A file's content, and its path or name for messages. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /**
   * A file of the program, which a test has checked: parsed ten times as fast, but duplicate
   * members are not detected. Default: false.
   */
  readonly trusted?: boolean;
  /** The tests have checked it: it has only to be JSON. Default: false. */
  readonly checked?: boolean;
}

/**
 * Parses a driver file's text.
 *
 * @throws DriverFileError at the first character that is wrong.
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

/** Positions are found by a second, careful reading when something is wrong. */
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

/** @throws DriverFileError with the findings, if there are any, and their places in the text. */
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
