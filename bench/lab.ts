import type { Stage } from "./stage.ts";

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
/** A look under two minutes. */
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
