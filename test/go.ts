/**
 * Compiles Go programs for one run: without a build cache, optimisation takes longer than the runs.
 */
export const quickGo = {
  CGO_ENABLED: "0",
  GOFLAGS: `${process.env["GOFLAGS"] ?? ""} '-gcflags=all=-N -l' -ldflags=-s`,
};
