import type { Experiment, Finding, Target, Verdict } from "./finding.ts";
import { count, decimal, percent, size } from "./format.ts";
import type { Lab, Plan } from "./lab.ts";
import type { Program } from "./program.ts";
import type { Measure, Round, Side } from "./side.ts";
import { differenceOf, median, ratioOf } from "./statistics.ts";

/** Sides that are measured by turns under the same load. */
export interface Contest {
  readonly name: string;
  readonly title: string;
  /** How the load is made, in one sentence. */
  readonly load: string;
  readonly needs: readonly Program[];
  readonly long?: true;
  /** Starts everything. The first side is Mooring's. */
  open(lab: Lab): Promise<readonly Side[]>;
  readonly comparisons: readonly Comparison[];
}

/** One or two sides and what is to come out. Left out when a side does not take part. */
export interface Comparison {
  readonly of: string;
  /** The other side; undefined: the figure of one side stands by itself. */
  readonly against?: string;
  readonly measure: Measure;
  /** How much more it is, in place of how many times as much. */
  readonly by?: "difference";
  readonly target?: Target;
}

interface Measured {
  readonly side: Side;
  readonly rounds: readonly Round[];
}

/** Below this share of a core the server had to wait, and requests per second say little. */
const SATURATED = 0.9;
/** From this share of a core on, other programs are worth a remark. */
const NOISE = 0.05;
const measureNames: Record<Measure, string> = {
  perSecond: "requests per second",
  cpuPerRequest: "CPU per request",
  medianMillis: "median time",
};

const units: Record<Measure, string> = {
  perSecond: " per second",
  cpuPerRequest: " µs",
  medianMillis: " ms",
};

/** Makes an experiment of a contest. */
export function experimentOf(contest: Contest): Experiment {
  const { name, title, needs, long, open } = contest;
  return {
    name,
    title,
    needs,
    ...(long === undefined ? {} : { long }),
    open,
    measure: async (lab) => report(contest, await compete(await open(lab), lab.plan)),
  };
}

/** Warms each side up, then goes through them forwards and backwards by turns. */
async function compete(sides: readonly Side[], plan: Plan): Promise<Measured[]> {
  for (const side of sides) await side.run(plan.warmUp);
  const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) rounds.get(side)?.push(await side.run(plan.seconds));
  }
  return sides.map((side) => ({ side, rounds: rounds.get(side) ?? [] }));
}

function report(contest: Contest, measured: readonly Measured[]): Finding {
  return {
    name: contest.name,
    title: contest.title,
    load: contest.load,
    columns: ["", "reply", "on the wire", "per second", "CPU µs each", "core busy", "median ms"],
    rows: measured.map(row),
    verdicts: contest.comparisons.flatMap((comparison) => verdict(comparison, measured) ?? []),
    notes: remarks(measured),
    figures: measured.map(({ side, rounds }) => ({
      side: side.name,
      payloadBytes: side.payloadBytes,
      rounds,
    })),
  };
}

function row({ side, rounds }: Measured): string[] {
  return [
    side.name,
    size(side.payloadBytes),
    size(middle(rounds, "wireBytes")),
    count(middle(rounds, "perSecond")),
    decimal(middle(rounds, "cpuPerRequest")),
    percent(middle(rounds, "busy")),
    decimal(middle(rounds, "medianMillis")),
  ];
}

function verdict(comparison: Comparison, measured: readonly Measured[]): Verdict | undefined {
  const of = measured.find(({ side }) => side.name === comparison.of);
  if (of !== undefined && comparison.against === undefined) return figureOf(of, comparison);
  const against = measured.find(({ side }) => side.name === comparison.against);
  if (of === undefined || against === undefined) return undefined;
  const isDifference = comparison.by === "difference";
  const { median: value, ...range } = (isDifference ? differenceOf : ratioOf)(
    series(of.rounds, comparison.measure),
    series(against.rounds, comparison.measure),
  );
  return {
    text: `${of.side.name} against ${against.side.name}, ${measureNames[comparison.measure]}`,
    value,
    unit: isDifference ? units[comparison.measure] : "×",
    ...range,
    ...(comparison.target === undefined ? {} : { target: comparison.target }),
  };
}

/** The figure of one side. */
function figureOf({ side, rounds }: Measured, { measure, target }: Comparison): Verdict {
  const values = series(rounds, measure);
  return {
    text: `${side.name}, ${measureNames[measure]}`,
    value: median(values),
    unit: units[measure],
    lowest: Math.min(...values),
    highest: Math.max(...values),
    ...(target === undefined ? {} : { target }),
  };
}

/** What the figures suffered from. */
function remarks(measured: readonly Measured[]): string[] {
  const others = Math.max(...measured.flatMap(({ rounds }) => series(rounds, "others")));
  const waiting = measured.filter(({ side, rounds }) => {
    const busy = middle(rounds, "busy");
    return side.payloadBytes !== undefined && busy !== undefined && busy < SATURATED;
  });
  const names = waiting.map(({ side }) => side.name).join(", ");
  return [
    ...(others < NOISE
      ? []
      : [`other programs used up to ${percent(others)} of the servers' core`]),
    ...(names === ""
      ? []
      : [`not busy all the time, so that CPU per request says more than the rate: ${names}`]),
  ];
}

function series(rounds: readonly Round[], member: keyof Round): number[] {
  return rounds.flatMap((round) => round[member] ?? []);
}

function middle(rounds: readonly Round[], member: keyof Round): number | undefined {
  const values = series(rounds, member);
  return values.length === 0 ? undefined : median(values);
}
