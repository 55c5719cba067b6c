import type { Program } from "./program.ts";
import type { Stage } from "./stage.ts";
import { median } from "./statistics.ts";

/** Durations and repetitions of measurements. */
export interface Plan {
  /** Seconds of load before the first round of each side. */
  readonly warmUp: number;
  /** Rounds of each side. */
  readonly rounds: number;
  /** Seconds of one round, a whole number. */
  readonly seconds: number;
  /** Number of starts of each server in measurements of start times. */
  readonly starts: number;
  /** Number of concurrent watch streams. */
  readonly streams: number;
}

/** Run of less than twenty minutes, for published figures. */
export const fullPlan: Plan = { warmUp: 3, rounds: 5, seconds: 4, starts: 11, streams: 10_000 };
/** Run of less than two minutes. */
export const quickPlan: Plan = { warmUp: 1, rounds: 2, seconds: 1, starts: 2, streams: 10_000 };

/** Environment of an experiment. */
export interface Lab {
  readonly stage: Stage;
  readonly plan: Plan;
  /** Path of the measured program. */
  readonly server: string;
  /** Flags for its Node, such as those of a profile. */
  readonly nodeFlags: readonly string[];
  readonly quick: boolean;
}

/** Measurement, chosen by its name. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** Required programs; without them the experiment is skipped. */
  readonly needs: readonly Program[];
  /** @throws NotMeasurable when the server lacks the measured function. */
  measure(lab: Lab): Promise<Figures>;
  /** Starts only the sides, for a profile of the first one. */
  readonly open?: (lab: Lab) => Promise<readonly ProfiledSide[]>;
}

/** Side of a profile. */
export interface ProfiledSide {
  run(seconds: number): Promise<{ readonly requests: number }>;
  readonly server?: { stop(): Promise<void> };
}

/** Result of an experiment. */
export interface Figures {
  /** Description of the load, in one sentence. */
  readonly load: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly verdicts: readonly Verdict[];
  /** Conditions that limit the validity of the figures. */
  readonly notes?: readonly string[];
  /** All figures, for the JSON file. */
  readonly figures: unknown;
}

/** Result of an experiment with its name. */
export interface Finding extends Figures {
  readonly name: string;
  readonly title: string;
}

/** Figure with its target. */
export interface Verdict {
  readonly text: string;
  readonly value: number;
  /** `×` for a ratio. */
  readonly unit: string;
  readonly lowest?: number;
  readonly highest?: number;
  readonly target?: Target;
}

/** Target value of a figure. */
export type Target =
  | { readonly atLeast: number; readonly atMost?: never }
  | { readonly atMost: number; readonly atLeast?: never };

/** Error for an experiment that is impossible with this server; it is reported as skipped. */
export class NotMeasurable extends Error {}

/** Median of several measurements with its target, and the lowest and highest value. */
export function verdictOf(
  text: string,
  values: readonly number[],
  unit: string,
  target?: Target,
): Verdict {
  const range = { lowest: Math.min(...values), highest: Math.max(...values) };
  return { text, value: median(values), unit, ...range, ...(target && { target }) };
}

/** Single value with its highest permitted value. */
export function limited(text: string, value: number, unit: string, atMost: number): Verdict {
  return { text, value, unit, target: { atMost } };
}

/** Reports whether a target is met; undefined: no target. */
export function reached({ value, target }: Verdict): boolean | undefined {
  if (target === undefined) return undefined;
  return target.atLeast !== undefined ? value >= target.atLeast : value <= target.atMost;
}
