import type { State } from "../sync/state.ts";

/** Status of a rule on a site. */
export interface RuleStatus extends State {
  /** Name of the site. */
  readonly site: string;
  /** Path of the rule on the site. */
  readonly path: string;
  /** Whether the site has the newest revision of the rule, without differences. */
  readonly agrees: boolean;
  /** Revision that the site has; 0: none. */
  readonly applied: number;
  /** Names of members that differ. */
  readonly differs: readonly string[];
  /** Time of the last read of the site's rules, in milliseconds since 1970 UTC; 0: never. */
  readonly readAt: number;
}
