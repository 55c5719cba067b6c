import type { Text } from "../messages/message.ts";

/**
 * States of a site, and of a record on a site, from the best to the worst.
 * - `ok`: everything agrees and works. `waiting`: work is in progress or planned.
 * - `differs`: the site has other values, and nothing is written without a request.
 * - `failing`: it does not work; attempts are repeated. `stuck`: a user has to act.
 */
export const STATES = ["ok", "waiting", "differs", "failing", "stuck"] as const;

/** State in one word. */
export type StateName = (typeof STATES)[number];

/** A reason for which something does not work, or may not work. */
export interface Trouble {
  /** Empty: none. */
  readonly cause: Text;
  /** Remedy; empty: none, or unknown. */
  readonly remedy: Text;
  /** Milliseconds since 1970 UTC; 0: unknown. */
  readonly since: number;
}

/** State of a site, or of a record on a site, with its cause and remedy. */
export interface State extends Trouble {
  readonly state: StateName;
}

export const OK: State = Object.freeze({ state: "ok", cause: "", remedy: "", since: 0 });

/** The worst of some states, the first of equal ones; `ok` if there is none. */
export function worstOf(states: readonly State[]): State {
  return states.reduce(
    (worst, each) => (STATES.indexOf(each.state) > STATES.indexOf(worst.state) ? each : worst),
    OK,
  );
}
