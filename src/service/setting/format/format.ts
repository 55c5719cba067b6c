/** A form that the values of a setting have beyond its type, such as a list or a URL. */
export interface Format {
  /**
   * Checks a value; it never throws, and its work grows with the value's length only.
   *
   * @returns what is wrong and what would be right, for a person; undefined when nothing is.
   */
  readonly check: (value: string) => string | undefined;
  /** What becomes of a value before it is checked and kept. Absent: it stays as it is. */
  readonly normalize?: (value: string) => string;
  /** Whether a message can quote a part of the value. Then no secret setting may have the format. */
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
