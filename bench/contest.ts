import {
  type Experiment,
  type Figures,
  type Lab,
  type Plan,
  type Target,
  type Verdict,
  verdictOf,
} from "./experiment.ts";
import { coreMicros, cpuMicros } from "./proc.ts";
import type { Program } from "./program.ts";
import { count, decimal, percent, size } from "./report.ts";
import { type Running, SERVER_CORE } from "./stage.ts";
import { differencesOf, median, ratiosOf } from "./statistics.ts";

/** Result of a load generator. */
export interface LoadResult {
  /** Number of answered requests, or of written items. */
  readonly requests: number;
  readonly seconds: number;
  /** Bytes received per reply, including headers and framing. */
  readonly wireBytes?: number;
  readonly medianMillis?: number;
  readonly p99Millis?: number;
}

/** Generates load for a number of seconds. */
export type Load = (seconds: number) => Promise<LoadResult>;

/** Result of a round of one side. */
export interface Round extends LoadResult {
  readonly perSecond: number;
  /** CPU time of the server per request, in microseconds. */
  readonly cpuPerRequest: number;
  /** Share of one core that the server used, 0 to 1. */
  readonly busy: number;
  /** Share of the server's core that other programs used; close to 0 in a valid round. */
  readonly others: number;
}

/** Figure for the comparison of sides. */
export type Measure = "perSecond" | "cpuPerRequest" | "medianMillis";

/** Side of a contest: Mooring or a yardstick, with its load. */
export interface Side {
  readonly name: string;
  /** Bytes of the reply's body or message; absent without a reply. */
  readonly payloadBytes?: number;
  readonly server?: Running;
  run(seconds: number): Promise<Round>;
}

/**
 * Creates a side of a server and a load. @param behind further servers that each request passes.
 */
export function serverSide(
  name: string,
  server: Running,
  load: Load,
  { payloadBytes, behind = [] }: SideOptions = {},
): Side {
  const servers = [server, ...behind];
  const used = (): number => servers.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
  return {
    name,
    server,
    ...(payloadBytes === undefined ? {} : { payloadBytes }),
    run: async (seconds) => {
      server.assertAlive();
      const before = used();
      const coreBefore = coreMicros(SERVER_CORE);
      const result = await load(seconds);
      const usedOfSide = used() - before;
      const coreUsed = coreMicros(SERVER_CORE) - coreBefore;
      server.assertAlive();
      return roundOf(result, usedOfSide, coreUsed - usedOfSide);
    },
  };
}

interface SideOptions {
  readonly payloadBytes?: number;
  readonly behind?: readonly Running[];
}

/**
 * @param used CPU time of the server in the round, in microseconds. @param usedByOthers that of
 *   other programs on its core.
 */
export function roundOf(result: LoadResult, used: number, usedByOthers = 0): Round {
  if (result.requests === 0) throw new Error("not one request was answered");
  return {
    ...result,
    perSecond: result.requests / result.seconds,
    cpuPerRequest: used / result.requests,
    busy: used / 1_000_000 / result.seconds,
    others: Math.max(0, usedByOthers / 1_000_000 / result.seconds),
  };
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

/** Comparison of one or two sides with its target. Skipped when a side is missing. */
export interface Comparison {
  readonly of: string;
  /** Other side; undefined: the figure of one side alone. */
  readonly against?: string;
  readonly measure: Measure;
  /** Compares the difference instead of the ratio. */
  readonly by?: "difference";
  readonly target?: Target;
}

interface Measured {
  readonly side: Side;
  readonly rounds: readonly Round[];
}

/**
 * Share of a core below which the server was not saturated, so that requests per second are not
 * comparable.
 */
const SATURATED = 0.9;
/** Share of a core from which other programs are mentioned. */
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

/** Converts a contest to an experiment. */
export function experimentOf(contest: Contest): Experiment {
  const { name, title, needs, open } = contest;
  const measure = async (lab: Lab) => report(contest, await compete(await open(lab), lab.plan));
  return { name, title, needs, open, measure };
}

/** Warms each side up, then measures them alternately in forward and reverse order. */
async function compete(sides: readonly Side[], plan: Plan): Promise<Measured[]> {
  for (const side of sides) await side.run(plan.warmUp);
  const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) rounds.get(side)?.push(await side.run(plan.seconds));
  }
  return sides.map((side) => ({ side, rounds: rounds.get(side) ?? [] }));
}

function report(contest: Contest, measured: readonly Measured[]): Figures {
  return {
    load: contest.load,
    columns: ["", "reply", "on the wire", "per second", "CPU µs each", "core busy", "median ms"],
    rows: measured.map(row),
    verdicts: contest.comparisons.flatMap((comparison) => verdict(comparison, measured) ?? []),
    notes: remarks(measured),
    figures: measured.map(({ side: { name: side, payloadBytes }, rounds }) => ({
      side,
      payloadBytes,
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
  const { against, measure, by, target } = comparison;
  const seriesOf = (name: string) => {
    const found = measured.find(({ side }) => side.name === name);
    return found && series(found.rounds, measure);
  };
  const of = seriesOf(comparison.of);
  if (of === undefined) return undefined;
  if (against === undefined)
    return verdictOf(`${comparison.of}, ${measureNames[measure]}`, of, units[measure], target);
  const others = seriesOf(against);
  if (others === undefined) return undefined;
  const text = `${comparison.of} against ${against}, ${measureNames[measure]}`;
  return by === "difference"
    ? verdictOf(text, differencesOf(of, others), units[measure], target)
    : verdictOf(text, ratiosOf(of, others), "×", target);
}

/** Remarks on conditions that affected the figures. */
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
