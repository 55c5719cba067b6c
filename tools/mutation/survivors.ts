/** A mutant that survives, and why that is right. */
export interface Survivor {
  /** The text of its line, trimmed. */
  readonly code: string;
  /** The change, as the run prints it. */
  readonly change: string;
  readonly reason: string;
}

/** Mutants that no test can kill, by file. */
export const survivors: Readonly<Record<string, readonly Survivor[]>> = {};
