import { reasonOf, systemCode } from "../config/complaint.ts";

/** Exit codes of the commands. Scripts rely on them: a code never changes its meaning. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unauthenticated: 5,
  unavailable: 6,
  conflict: 7,
  /** Of plan only, as of diff: not an error. */
  differs: 2,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Meaning of each code, for help and documentation. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  [EXIT.ok]: "done",
  [EXIT.failed]: "failed for another reason, or not confirmed",
  [EXIT.usage]: "invalid command line; of plan: the file and the service differ",
  [EXIT.notFound]: "the setting, revision or file does not exist",
  [EXIT.refused]: "refused: an invalid or managed value, an existing file, removals without --yes",
  [EXIT.unauthenticated]: "the token is missing or wrong",
  [EXIT.unavailable]: "the service does not answer in time",
  [EXIT.conflict]: "conflict with another change; nothing was changed",
};

/** Failure of a command: exit code and message for the terminal. */
export class CliFailure extends Error {
  override readonly name = "CliFailure";
  readonly exitCode: ExitCode;
  /** More lines below the message, such as one per invalid value. */
  readonly lines: readonly string[];

  constructor(exitCode: ExitCode, message: string, lines: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** Failure for an invalid command line. */
export function usage(message: string, lines: readonly string[] = []): CliFailure {
  return new CliFailure(EXIT.usage, message, lines);
}

/** A failure of the file system: exit code 3 when a file is missing, else 1. */
export function fileFailure(what: string, cause: unknown): CliFailure {
  const exitCode = systemCode(cause) === "ENOENT" ? EXIT.notFound : EXIT.failed;
  return new CliFailure(exitCode, `${what}: ${reasonOf(cause)}`);
}
