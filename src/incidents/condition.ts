import type { Text } from "../messages/message.ts";
import type { Incident, IncidentClass, IncidentEvent, IncidentSource } from "./incident.ts";
import type { IncidentStore, JoinDeliveries, StoredDelivery, StoredIncident } from "./store.ts";

/** Subject of an incident that is no mount. */
export type ConditionSubject =
  | { readonly subject: "site"; readonly siteId: string }
  /** Token of a site, or of Mooring. */
  | { readonly subject: "token"; readonly siteId: string }
  | { readonly subject: "token"; readonly name: string }
  | { readonly subject: "backup"; readonly name: string };

/** Failure of a subject. */
export interface Condition {
  readonly class: IncidentClass;
  /** Text for the operator, without secrets. */
  readonly message: Text;
  /** Whether another message of the same class is announced. */
  readonly isStep?: boolean;
}

export interface ConditionDeps {
  readonly store: Pick<IncidentStore, "list" | "write">;
  readonly now: () => number;
  readonly newId: () => string;
  /** The notifications of a change, stored in the same transaction. */
  readonly announce: (event: IncidentEvent, incident: Incident) => readonly StoredDelivery[];
  readonly join: JoinDeliveries;
  /** Called after each stored change. */
  readonly onChange: (event: IncidentEvent, incident: Incident) => void;
}

/**
 * Incidents of sites, tokens and backups. The process that works on a subject reports its state: the
 * one that has the lease of sites, or that makes a backup.
 */
export interface Conditions {
  /**
   * Opens, changes or closes the incident of a subject.
   *
   * @param condition undefined: the subject works.
   */
  report(subject: ConditionSubject, condition: Condition | undefined): Promise<void>;
}

export function createConditions(deps: ConditionDeps): Conditions {
  const { store, now } = deps;
  /** Reports of this process one after the other: two at the same time would open two incidents. */
  let last: Promise<void> = Promise.resolve();
  const report = async (subject: ConditionSubject, condition: Condition | undefined) => {
    const key = keyOf(subject);
    const [before] = await store.list({ ...key, open: true, limit: 1 });
    const change = changeOf(before, condition, {
      time: now(),
      fresh: () => ({
        ...key,
        id: deps.newId(),
        mountPath: "",
        driver: "",
        source: SOURCES[key.subject],
      }),
    });
    if (change === undefined) return;
    const { incident, event } = change;
    await store.write(
      [incident],
      event === undefined ? [] : deps.announce(event, incident),
      deps.join,
    );
    if (event !== undefined) deps.onChange(event, incident);
  };
  return {
    report: (subject, condition) => {
      const mine = last.then(() => report(subject, condition));
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

const SOURCES = { site: "contact", token: "expiry", backup: "backup" } as const satisfies Record<
  string,
  IncidentSource
>;

function keyOf(subject: ConditionSubject) {
  return { name: "", siteId: "", ...subject };
}

/** @returns undefined: nothing has changed. */
function changeOf(
  before: StoredIncident | undefined,
  condition: Condition | undefined,
  {
    time,
    fresh,
  }: {
    readonly time: number;
    readonly fresh: () => Pick<
      StoredIncident,
      "id" | "subject" | "name" | "siteId" | "mountPath" | "driver" | "source"
    >;
  },
): { readonly incident: StoredIncident; readonly event: IncidentEvent | undefined } | undefined {
  if (condition === undefined)
    return before && { incident: { ...before, closedAt: time, changedAt: time }, event: "closed" };
  const { class: kind, message, isStep = false } = condition;
  if (before !== undefined) {
    const isSameClass = before.class === kind;
    if (isSameClass && String(before.message) === String(message)) return undefined;
    return {
      incident: { ...before, class: kind, message, changedAt: time },
      event: isSameClass && !isStep ? undefined : "changed",
    };
  }
  const incident: StoredIncident = {
    ...fresh(),
    class: kind,
    message,
    openedAt: time,
    changedAt: time,
    closedAt: 0,
    acknowledgedAt: 0,
    acknowledgedBy: "",
    note: "",
    signals: {},
  };
  return { incident, event: "opened" };
}
