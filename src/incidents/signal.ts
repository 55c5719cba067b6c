import { classify } from "./classify.ts";
import type { IncidentSource, Signal, Signals } from "./incident.ts";

/** Network errors in a row that make an incident. */
const NETWORK_ERRORS = 3;
/** Two observations that are nearer to each other count as one, in milliseconds. */
const APART = 30_000;
/** Which source an incident shows when several report: what was seen last at the provider comes first. */
const ORDER: readonly IncidentSource[] = ["probe", "status", "expiry"];

/** Observation of a mount. */
export type Observation =
  /** The mount's status in the server's list. `remade`: the row was changed since the last look. */
  | { readonly kind: "status"; readonly status: string; readonly remade: boolean }
  /** The mount is disabled or deleted. */
  | { readonly kind: "off" }
  /** A listing; an empty text: it worked. */
  | { readonly kind: "probe"; readonly error: string }
  /** The end of a token's life; undefined: no token ends soon. */
  | { readonly kind: "expiry"; readonly error: string | undefined };

/**
 * Brings what is known of a mount up to date.
 *
 * A status `work` stays on servers while listings fail, so it ends only what a status reported. A
 * listing that works ends both. A mount that was made anew ends what listings of the old one reported.
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
      // Empty: the mount is under way, and says nothing yet.
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

/** The signal that an incident shows; undefined: the mount works, or has failed too few times. */
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
