import { classify } from "./classify.ts";
import type { IncidentSource, Signal, Signals } from "./incident.ts";

/** Number of consecutive network errors that open an incident. */
const NETWORK_ERRORS = 3;
/** Minimum time between two errors that are counted separately, in milliseconds. */
const APART = 30_000;
/** Precedence of the sources of an incident: results of listings at the provider come first. */
const ORDER: readonly IncidentSource[] = ["probe", "status", "expiry"];

/** Observation of a mount. */
export type Observation =
  /** The mount's status in the server's list. `remade`: the row was changed since the last read. */
  | { readonly kind: "status"; readonly status: string; readonly remade: boolean }
  /** The mount is disabled or deleted. */
  | { readonly kind: "off" }
  /** Result of a listing; empty: success. */
  | { readonly kind: "probe"; readonly error: string }
  /** Expiry of a token; undefined: no token expires soon. */
  | { readonly kind: "expiry"; readonly error: string | undefined };

/**
 * Updates the signals of a mount after an observation.
 * Servers keep the status `work` while listings fail, so it clears only the signal of a status. A
 * successful listing clears both. A changed row clears the signals of listings of the former row.
 *
 * @param plain removes secrets from a message and shortens it to its first line.
 */
export function observe(
  signals: Signals,
  observation: Observation,
  { now, plain }: { readonly now: number; readonly plain: (message: string) => string },
): Signals {
  const { probe: _probe, status: _status, expiry: _expiry, ...none } = signals;
  const keep = (...sources: readonly IncidentSource[]): Signals => ({
    ...none,
    ...Object.fromEntries(
      sources.flatMap((source) => (signals[source] ? [[source, signals[source]]] : [])),
    ),
  });
  const add = (source: IncidentSource, message: string, rest: Signals): Signals => ({
    ...rest,
    [source]: nextSignal(signals[source], message, { now, plain }),
  });
  switch (observation.kind) {
    case "off":
      return {};
    case "status": {
      const rest = observation.remade ? keep("expiry") : keep("probe", "expiry");
      // Empty: the mount is still starting, and its state is unknown.
      if (observation.status === "")
        return observation.remade ? rest : keep("probe", "status", "expiry");
      return observation.status === "work" ? rest : add("status", observation.status, rest);
    }
    case "probe":
      return observation.error === ""
        ? keep("expiry")
        : add("probe", observation.error, keep("status", "expiry"));
    case "expiry": {
      const rest = keep("probe", "status");
      if (observation.error === undefined) return rest;
      const message = plain(observation.error);
      return { ...rest, expiry: { class: "credential", message, count: 1, countedAt: now } };
    }
  }
}

function nextSignal(
  before: Signal | undefined,
  message: string,
  { now, plain }: { readonly now: number; readonly plain: (message: string) => string },
): Signal {
  const kind = classify(message);
  const isSameKind = before?.class === kind;
  const isCounted = !isSameKind || now - before.countedAt >= APART || now < before.countedAt;
  return {
    class: kind,
    message: plain(message),
    count: (isSameKind ? before.count : 0) + (isCounted ? 1 : 0),
    countedAt: isCounted ? now : before.countedAt,
  };
}

/** Signal shown by an incident; undefined: the mount works, or has failed too few times. */
export function leadingSignal(
  signals: Signals,
): { readonly source: IncidentSource; readonly signal: Signal } | undefined {
  for (const source of ORDER) {
    const signal = signals[source];
    if (signal !== undefined && (signal.class !== "network" || signal.count >= NETWORK_ERRORS))
      return { source, signal };
  }
  return undefined;
}
