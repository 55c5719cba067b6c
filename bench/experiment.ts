import type { Program } from "./program.ts";
import type { Stage } from "./stage.ts";
import { median } from "./statistics.ts";

/** How long and how often to measure. */
export interface Plan {
  /** Seconds of load before the first round of each side. */
  readonly warmUp: number;
  /** Rounds of each side. */
  readonly rounds: number;
  /** Seconds of one round, a whole number. */
  readonly seconds: number;
  /** Starts of each server when starting is measured. */
  readonly starts: number;
  /** Streams that watch at the same time. */
  readonly streams: number;
}

/** A run of less than twenty minutes, for figures to keep. */
export const fullPlan: Plan = { warmUp: 3, rounds: 5, seconds: 4, starts: 11, streams: 10_000 };
/** A run of less than two minutes. */
export const quickPlan: Plan = { warmUp: 1, rounds: 2, seconds: 1, starts: 2, streams: 10_000 };

/** What an experiment works with. */
export interface Lab {
  readonly stage: Stage;
  readonly plan: Plan;
  /** The program to measure: its file. */
  readonly server: string;
  /** Flags for its Node, such as those of a profile. */
  readonly nodeFlags: readonly string[];
  readonly quick: boolean;
  /** Whether to make the experiments too that a quick run leaves out. */
  readonly everything: boolean;
  /** Whether etcd takes part. */
  readonly etcd: boolean;
}

/** One measurement, chosen by its name. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** Programs without which it is skipped. */
  readonly needs: readonly Program[];
  /** @throws NotMeasurable when the server lacks what it would measure. */
  measure(lab: Lab): Promise<Figures>;
  /** Starts the sides alone, for a profile; the first of them is profiled. */
  readonly open?: (lab: Lab) => Promise<readonly ProfiledSide[]>;
}

/** What a profile needs of a side. */
export interface ProfiledSide {
  run(seconds: number): Promise<{ readonly requests: number }>;
  readonly server?: { stop(): Promise<void> };
}

/** Result of an experiment. */
export interface Figures {
  /** How the load was made, in one sentence. */
  readonly load: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly verdicts: readonly Verdict[];
  /** Conditions that limit what the figures say. */
  readonly notes?: readonly string[];
  /** All figures, for the JSON file. */
  readonly figures: unknown;
}

/** Result of an experiment with its name. */
export interface Finding extends Figures {
  readonly name: string;
  readonly title: string;
}

/** One figure beside its target. */
export interface Verdict {
  readonly text: string;
  readonly value: number;
  /** `×` for a ratio. */
  readonly unit: string;
  readonly lowest?: number;
  readonly highest?: number;
  readonly target?: Target;
}

/** The value to reach. */
export type Target =
  | { readonly atLeast: number; readonly atMost?: never }
  | { readonly atMost: number; readonly atLeast?: never };

/** The reason why an experiment cannot be made with this server; it is reported as skipped. */
export class NotMeasurable extends Error {}

/** The median of several measurements beside its target, with the lowest and the highest. */
export function verdictOf(
  text: string,
  values: readonly number[],
  unit: string,
  target?: Target,
): Verdict {
  const range = { lowest: Math.min(...values), highest: Math.max(...values) };
  return { text, value: median(values), unit, ...range, ...(target && { target }) };
}

/** Whether a target is met; undefined when there is none. */
export function reached({ value, target }: Verdict): boolean | undefined {
  if (target === undefined) return undefined;
  return target.atLeast !== undefined ? value >= target.atLeast : value <= target.atMost;
}
