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
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each code says, for the help and the documentation. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  [EXIT.ok]: "done",
  [EXIT.failed]: "failed for another reason, or a question was answered with no",
  [EXIT.usage]: "the command line is wrong",
  [EXIT.notFound]: "there is no such setting, revision or file",
  [EXIT.refused]: "refused: a wrong value, a managed setting, a file that exists",
  [EXIT.unauthenticated]: "the token is missing or wrong",
  [EXIT.unavailable]: "the service does not answer, or not in time",
  [EXIT.conflict]: "something has changed meanwhile; nothing was done",
};
