/**
 * Compiles Go programs for one run: on a machine that has compiled nothing yet, optimising them takes
 * longer than all that they do.
 */
export const quickGo = {
  CGO_ENABLED: "0",
  GOFLAGS: `${process.env["GOFLAGS"] ?? ""} '-gcflags=all=-N -l' -ldflags=-s`,
};
