import type { Text } from "../messages/message.ts";

/** Line and column of a file, from 1; both are 0 for the whole file. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The whole file. */
export const WHOLE_FILE: Place = { line: 0, column: 0 };

/** Problem of a file that declares records, for its author. */
export interface Problem extends Place {
  /** Name of the entry; empty for other problems. */
  readonly key: string;
  /** Description of the problem and its remedy. It never quotes a value that may be secret. */
  readonly reason: Text;
  /** Whether the file is valid once a site with this name exists. */
  readonly isUnknownSite?: boolean;
}

/** Maximum number of reported problems of a file. */
export const MAX_PROBLEMS = 100;

/** `path:line:column: key: reason`, which terminals and editors show as a link. */
export function problemText(path: string, { line, column, key, reason }: Problem): string {
  const place = line === 0 ? path : `${path}:${line}:${column}`;
  return `${place}: ${key === "" ? "" : `${key}: `}${reason}`;
}

/** Problems in the order of the file, at most {@link MAX_PROBLEMS}. */
export function sortedProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, MAX_PROBLEMS);
}

/** Escapes a name for messages. */
export function shown(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
}
