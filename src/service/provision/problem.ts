/** Something wrong in a file of provisioned settings, for the person who is going to repair it. */
export interface ProvisionProblem {
  /** Both count from 1; both are 0 when it is about the file as a whole. */
  readonly line: number;
  readonly column: number;
  /** The setting's key; empty when it is about something else. */
  readonly key: string;
  /** What is wrong and what would be right. It never quotes a value that may be a secret. */
  readonly reason: string;
}

/** Notes a problem at an offset of the text. */
export type Report = (offset: number, key: string, reason: string) => void;

/** `path:line:column: key: reason`, which terminals and editors make a link of. */
export function problemText(path: string, { line, column, key, reason }: ProvisionProblem): string {
  const place = line === 0 ? path : `${path}:${line}:${column}`;
  return `${place}: ${key === "" ? "" : `${key}: `}${reason}`;
}
