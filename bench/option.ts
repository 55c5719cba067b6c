import { parseArgs } from "node:util";

/** What the command line asks for. */
export interface Options {
  readonly quick: boolean;
  /** Names of experiments; empty for all. */
  readonly only: readonly string[];
  readonly json?: string;
  readonly writeDocs: boolean;
  /** Name of the contest to profile. */
  readonly profile?: string;
  /** The program to measure; undefined: the package that a build makes. */
  readonly server?: string;
  readonly list: boolean;
  readonly help: boolean;
}

export const usage = `Usage: npm run bench -- [options] [NAME…]

Measures Mooring beside its yardsticks: servers on core 0, load generators on core 1.

  NAME             only this experiment, as --only
  --quick          a look in under two minutes instead of twenty
  --only NAME      only this experiment; may be repeated or a list with commas
  --json FILE      writes every figure of every round
  --write-docs     puts the results into docs/performance.md
  --profile NAME   shows where the CPU time of this experiment's server goes, and measures nothing
  --server FILE    measures this program, such as src/main.ts, and not the package that a build makes
  --list           names of the experiments
  --help           this text
`;

/** Reads the arguments. @throws TypeError that names a wrong one. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      "write-docs": { type: "boolean", default: false },
      profile: { type: "string" },
      server: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { json, profile, server, only, "write-docs": writeDocs, ...rest } = values;
  return {
    ...rest,
    writeDocs,
    only: [...only, ...positionals]
      .flatMap((names) => names.split(","))
      .filter((name) => name !== ""),
    ...(json === undefined ? {} : { json }),
    ...(profile === undefined ? {} : { profile }),
    ...(server === undefined ? {} : { server }),
  };
}
