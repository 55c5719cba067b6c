import {
  type Experiment,
  type Figures,
  type Lab,
  type Plan,
  type Target,
  type Verdict,
  verdictOf,
} from "./experiment.ts";
import { cpuMicros } from "./proc.ts";
import type { Program } from "./program.ts";
import { count, decimal, percent, size } from "./report.ts";
import type { Running } from "./stage.ts";
import { median, ratiosOf } from "./statistics.ts";

/** Result of a load generator. */
export interface LoadResult {
  /** Number of answered requests, or of another unit of work. */
  readonly requests: number;
  readonly seconds: number;
  /** Bytes received per reply, including headers and framing. */
  readonly wireBytes?: number;
  readonly medianMillis?: number;
}

/** Generates load for a number of seconds. */
export type Load = (seconds: number) => Promise<LoadResult>;

/** Result of a round of one side. */
interface Round extends LoadResult {
  readonly perSecond: number;
  /** CPU time of the server per request, in microseconds. */
  readonly cpuPerRequest: number;
  /** Share of one core that the server used, 0 to 1. */
  readonly busy: number;
}

/** Figure for the comparison of sides. */
type Measure = "perSecond" | "cpuPerRequest" | "medianMillis";

/** Side of a contest: Mooring or a yardstick, with its load. */
export interface Side {
  readonly name: string;
  readonly server: Running;
  readonly load: Load;
  /** Bytes of the reply's body or message. */
  readonly payloadBytes?: number;
}

/** Comparison of sides that are measured alternately under the same load. */
export interface Contest {
  readonly name: string;
  readonly title: string;
  /** Description of the load, in one sentence. */
  readonly load: string;
  readonly needs: readonly Program[];
  /** Starts all sides. The first one is Mooring. */
  open(lab: Lab): Promise<readonly Side[]>;
  readonly comparisons: readonly Comparison[];
}

/** Comparison of two sides, or the figure of one, with its target. */
interface Comparison {
  readonly of: string;
  readonly against?: string;
  readonly measure: Measure;
  readonly target?: Target;
}

interface Measured {
  readonly side: Side;
  readonly rounds: readonly Round[];
}

const measureNames: Readonly<Record<Measure, string>> = {
  perSecond: "per second",
  cpuPerRequest: "CPU per request",
  medianMillis: "median time",
};

const units: Readonly<Record<Measure, string>> = {
  perSecond: " per second",
  cpuPerRequest: " µs",
  medianMillis: " ms",
};

/** Converts a contest to an experiment. */
export function experimentOf(contest: Contest): Experiment {
  const { name, title, needs, open } = contest;
  const measure = async (lab: Lab) => report(contest, await compete(await open(lab), lab.plan));
  return { name, title, needs, measure };
}

/** Warms each side up, then measures them alternately in forward and reverse order. */
async function compete(sides: readonly Side[], plan: Plan): Promise<Measured[]> {
  for (const side of sides) await side.load(plan.warmUp);
  const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) rounds.get(side)?.push(await measureRound(side, plan.seconds));
  }
  return sides.map((side) => ({ side, rounds: rounds.get(side) ?? [] }));
}

async function measureRound({ name, server, load }: Side, seconds: number): Promise<Round> {
  const before = cpuMicros(server.pid);
  const result = await load(seconds);
  const micros = cpuMicros(server.pid) - before;
  server.assertAlive();
  if (result.requests === 0) throw new Error(`${name} answered no request`);
  return {
    ...result,
    perSecond: result.requests / result.seconds,
    cpuPerRequest: micros / result.requests,
    busy: micros / 1_000_000 / result.seconds,
  };
}

function report({ load, comparisons }: Contest, measured: readonly Measured[]): Figures {
  return {
    load,
    columns: ["", "reply", "on the wire", "per second", "CPU µs each", "core busy", "median ms"],
    rows: measured.map(row),
    verdicts: comparisons.map((comparison) => verdict(comparison, measured)),
  };
}

function row({ side, rounds }: Measured): string[] {
  const middle = (member: keyof Round): number | undefined => {
    const values = rounds.flatMap((round) => round[member] ?? []);
    return values.length === 0 ? undefined : median(values);
  };
  return [
    side.name,
    size(side.payloadBytes),
    size(middle("wireBytes")),
    count(middle("perSecond")),
    decimal(middle("cpuPerRequest")),
    percent(middle("busy")),
    decimal(middle("medianMillis")),
  ];
}

function verdict(comparison: Comparison, measured: readonly Measured[]): Verdict {
  const { of, against, measure, target } = comparison;
  const seriesOf = (name: string): readonly number[] => {
    const found = measured.find(({ side }) => side.name === name);
    return found?.rounds.flatMap((round) => round[measure] ?? []) ?? [];
  };
  if (against === undefined)
    return verdictOf(`${of}, ${measureNames[measure]}`, seriesOf(of), units[measure], target);
  const text = `${of} against ${against}, ${measureNames[measure]}`;
  return verdictOf(text, ratiosOf(seriesOf(of), seriesOf(against)), "×", target);
}
