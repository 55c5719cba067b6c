import { EXIT, type ExitCode } from "./exit-code.ts";

/** Ends a command with an exit code and sentences for the person at the terminal. */
export class CliFailure extends Error {
  override readonly name = "CliFailure";
  readonly exitCode: ExitCode;
  /** More lines below the message, such as one for each wrong value. */
  readonly lines: readonly string[];

  constructor(exitCode: ExitCode, message: string, lines: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** The command line is wrong. */
export function usage(message: string, lines: readonly string[] = []): CliFailure {
  return new CliFailure(EXIT.usage, message, lines);
}

/** Whoever reads the output has gone (EPIPE): the command ends without a word. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** System errors that people meet with files, in words. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is no folder",
  EACCES: "this user may not",
  EPERM: "this user may not",
  EROFS: "the file system is read-only",
  EISDIR: "it is a folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of this user is used up",
};

/** A failure of the file system: exit code 3 when a file is missing, else 1. */
export function fileFailure(what: string, cause: unknown): CliFailure {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
  const exitCode = code === "ENOENT" ? EXIT.notFound : EXIT.failed;
  return new CliFailure(exitCode, `${what}: ${reasons[code] ?? code}`);
}
