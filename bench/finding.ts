import type { Lab } from "./lab.ts";
import type { Program } from "./program.ts";

/** One thing that the bench finds out, chosen by `--only`. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** Programs without which it is skipped. */
  readonly needs: readonly Program[];
  /** Left out of a quick run. */
  readonly long?: true;
  /** @throws NotMeasurable when the server lacks what it would measure. */
  measure(lab: Lab): Promise<Finding>;
  /** Starts the sides alone, for a profile; the first of them is profiled. */
  readonly open?: (lab: Lab) => Promise<readonly ProfiledSide[]>;
}

/** What a profile needs of a side. */
export interface ProfiledSide {
  run(seconds: number): Promise<{ readonly requests: number }>;
  readonly server?: { stop(): Promise<void> };
}

/** What came out. */
export interface Finding {
  readonly name: string;
  readonly title: string;
  /** How the load was made, in one sentence. */
  readonly load: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly verdicts: readonly Verdict[];
  /** What to know before believing the figures. */
  readonly notes: readonly string[];
  /** All figures, for the JSON file. */
  readonly figures: unknown;
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

/** What is to be reached. */
export type Target =
  | { readonly atLeast: number; readonly atMost?: never }
  | { readonly atMost: number; readonly atLeast?: never };

/** Says why an experiment can't be made with the server at hand; it is reported as skipped. */
export class NotMeasurable extends Error {}

/** Whether a target is met; undefined when there is none. */
export function reached({ value, target }: Verdict): boolean | undefined {
  if (target === undefined) return undefined;
  return target.atLeast !== undefined ? value >= target.atLeast : value <= target.atMost;
}
