import { type IncidentEvent, leadingSignal, type Signals } from "./incident.ts";
import type { MountSignals } from "./open-incidents.ts";
import type { StoredIncident } from "./store.ts";

/** Mount of a site. */
export interface Place {
  readonly siteId: string;
  readonly path: string;
  readonly driver: string;
}

/** Change of the state of one mount. */
export interface Change {
  readonly siteId: string;
  readonly path: string;
  readonly next: MountSignals;
  readonly event: IncidentEvent | undefined;
  /** Whether the stored incident is up to date. */
  readonly isStored: boolean;
}

export interface ChangeOptions {
  readonly time: number;
  readonly newId: () => string;
  /** Whether a further incident may be opened. */
  readonly hasSpace: boolean;
}

/** Decides what new signals of a mount do to its incident: it is opened, changed, closed or kept. */
export function changeOf(
  place: Place,
  before: MountSignals,
  { signals, form }: Pick<MountSignals, "signals" | "form">,
  { time, newId, hasSpace }: ChangeOptions,
): Change {
  const { siteId, path, driver } = place;
  const result = (
    incident: StoredIncident | undefined,
    event: IncidentEvent | undefined,
    isStored: boolean,
  ): Change => ({ siteId, path, next: { signals, incident, form }, event, isStored });
  const shown = shownOf(signals, driver);
  const old = before.incident;
  if (shown === undefined) {
    if (old === undefined) return result(undefined, undefined, false);
    return result({ ...old, signals, closedAt: time, changedAt: time }, "closed", false);
  }
  if (old !== undefined) {
    if (isSame(old, shown)) return result(old, undefined, true);
    // A message that differs only in its counts is not announced again.
    const event = old.class === shown.class ? undefined : "changed";
    return result({ ...old, ...shown, signals, changedAt: time }, event, false);
  }
  if (!hasSpace) return result(undefined, undefined, true);
  const incident = newIncident(newId(), place, { ...shown, signals }, time);
  return result(incident, "opened", false);
}

/** Members of an incident that come from its leading signal, and its driver. */
type Shown = Pick<StoredIncident, "class" | "source" | "message" | "driver">;

/** @returns undefined: no signal, the mount works. */
function shownOf(signals: Signals, driver: string): Shown | undefined {
  const lead = leadingSignal(signals);
  if (lead === undefined) return undefined;
  return { class: lead.signal.class, source: lead.source, message: lead.signal.message, driver };
}

function isSame(a: Shown, b: Shown): boolean {
  return (
    a.class === b.class && a.source === b.source && a.message === b.message && a.driver === b.driver
  );
}

function newIncident(
  id: string,
  { siteId, path }: Place,
  shown: Shown & Pick<StoredIncident, "signals">,
  time: number,
): StoredIncident {
  return {
    id,
    subject: "mount",
    name: "",
    siteId,
    mountPath: path,
    ...shown,
    openedAt: time,
    changedAt: time,
    closedAt: 0,
    acknowledgedAt: 0,
    acknowledgedBy: "",
    note: "",
  };
}
