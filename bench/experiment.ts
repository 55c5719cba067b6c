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
  /** Number of measurements of a single event, such as a start. */
  readonly times: number;
}

/** Run of less than twenty minutes, for published figures. */
export const fullPlan: Plan = { warmUp: 3, rounds: 5, seconds: 4, times: 11 };
/** Short run to see that everything works. */
export const quickPlan: Plan = { warmUp: 1, rounds: 2, seconds: 1, times: 2 };

/** Environment of an experiment. */
export interface Lab {
  readonly stage: Stage;
  readonly plan: Plan;
  /** Path of the measured program. */
  readonly server: string;
}

/** Measurement, chosen by its name. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** Required programs; without them the experiment is skipped. */
  readonly needs: readonly Program[];
  measure(lab: Lab): Promise<Figures>;
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

/** Reports whether a target is met. */
export function reached(value: number, target: Target): boolean {
  return target.atLeast !== undefined ? value >= target.atLeast : value <= target.atMost;
}
