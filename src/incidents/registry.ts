import type { DriverInfo } from "../drivers/driver-info.ts";
import { secretsOf } from "../mounts/site/plain.ts";
import { readAddition, type StorageRow } from "../mounts/site/row.ts";
import type { Listing } from "../mounts/site/state.ts";
import { plainMessage } from "../sites/failure.ts";
import type { Site } from "../sites/site.ts";
import {
  type Incident,
  type IncidentEvent,
  leadingSignal,
  type Observation,
  observe,
  type Signals,
} from "./incident.ts";
import type { IncidentStore, StoredDelivery, StoredIncident } from "./store.ts";
import { tokenEnd } from "./token-end.ts";

/** Maximum number of open incidents; further failing mounts have none. */
export const MAX_OPEN = 10_000;

export interface IncidentRegistryDeps {
  readonly store: IncidentStore;
  readonly now: () => number;
  readonly newId: () => string;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** The notifications of a change, stored in the same transaction. */
  readonly announce: (event: IncidentEvent, incident: Incident) => readonly StoredDelivery[];
  /** Called after each stored change. */
  readonly onChange: (event: IncidentEvent, incident: Incident) => void;
}

/** Detects failing mounts by the lists of sites and by listings at providers, in one process. */
export interface IncidentRegistry {
  /** Reads the open incidents again, after another process has written them. */
  load(): Promise<void>;
  /** Processes a list of a site's mounts. Closes incidents of mounts that are no longer listed. */
  listed(site: Site, rows: readonly StorageRow[]): Promise<void>;
  /**
   * Processes the result of a listing of a mount.
   *
   * @param error first line of the server's message without secrets; empty: it worked.
   */
  probed(siteId: string, path: string, listing: Pick<Listing, "driver" | "error">): Promise<void>;
  /** Closes the incidents of deleted sites. */
  forgetSites(isKnown: (siteId: string) => boolean): Promise<void>;
  /** The open incidents. */
  open(): readonly Incident[];
  /** The open incident of a mount. */
  at(siteId: string, path: string): Incident | undefined;
}

/** State of one mount. */
interface Known {
  readonly signals: Signals;
  readonly incident: StoredIncident | undefined;
  /** Text that changes with the row. */
  readonly form: string;
}

const NEW: Known = { signals: {}, incident: undefined, form: "" };

export function createIncidentRegistry(deps: IncidentRegistryDeps): IncidentRegistry {
  const { store, now, driverOf } = deps;
  const known = new Map<string, Known>();
  // Observations of one mount are stored one after another.
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
  /** Adds the acknowledgement, which any process stores. */
  const withAcknowledgement = async (incident: StoredIncident): Promise<StoredIncident> => {
    const stored = await store.get(incident.id);
    if (stored === undefined) return incident;
    const { acknowledgedAt, acknowledgedBy, note } = stored;
    return { ...incident, acknowledgedAt, acknowledgedBy, note };
  };
  const commit = async (changes: readonly Change[]): Promise<void> => {
    const events: { readonly event: IncidentEvent; readonly incident: StoredIncident }[] = [];
    for (const { event, next } of changes) {
      if (event === undefined || next.incident === undefined) continue;
      const incident =
        event === "opened" ? next.incident : await withAcknowledgement(next.incident);
      events.push({ event, incident });
    }
    const writes = changes.flatMap(({ next, isStored }) =>
      next.incident !== undefined && !isStored ? [next.incident] : [],
    );
    if (writes.length > 0)
      await store.write(
        writes,
        events.flatMap(({ event, incident }) => deps.announce(event, incident)),
      );
    for (const { key, next } of changes) {
      const { incident } = next;
      const isOpen = incident !== undefined && incident.closedAt === 0;
      if (!isOpen && Object.keys(next.signals).length === 0 && next.form === "") known.delete(key);
      else known.set(key, isOpen ? next : { ...next, incident: undefined });
    }
    for (const { event, incident } of events) deps.onChange(event, incident);
  };
  const change = (
    place: { readonly siteId: string; readonly path: string; readonly driver: string },
    signals: Signals,
    form: string,
  ): Change => {
    const key = keyOf(place.siteId, place.path);
    const before = known.get(key) ?? NEW;
    const lead = leadingSignal(signals);
    const time = now();
    const old = before.incident;
    if (lead === undefined) {
      const incident = old && { ...old, signals, closedAt: time, changedAt: time };
      return { key, next: { signals, incident, form }, event: old && "closed", isStored: false };
    }
    const shown = {
      class: lead.signal.class,
      source: lead.source,
      message: lead.signal.message,
      driver: place.driver,
    };
    if (old !== undefined) {
      const isSame =
        old.class === shown.class &&
        old.source === shown.source &&
        old.message === shown.message &&
        old.driver === shown.driver;
      const incident = isSame ? old : { ...old, ...shown, signals, changedAt: time };
      // A message that differs only in its counts is not announced again.
      const isNews = old.class !== shown.class;
      return {
        key,
        next: { signals, incident, form },
        isStored: isSame,
        event: isNews ? "changed" : undefined,
      };
    }
    const openCount = [...known.values()].filter(({ incident }) => incident).length;
    if (openCount >= MAX_OPEN)
      return {
        key,
        next: { signals, incident: undefined, form },
        event: undefined,
        isStored: true,
      };
    const incident: StoredIncident = {
      id: deps.newId(),
      siteId: place.siteId,
      mountPath: place.path,
      ...shown,
      signals,
      openedAt: time,
      changedAt: time,
      closedAt: 0,
      acknowledgedAt: 0,
      acknowledgedBy: "",
      note: "",
    };
    return { key, next: { signals, incident, form }, event: "opened", isStored: false };
  };
  const plainOf = (row: StorageRow) => (message: string) =>
    plainMessage(message, secretsOf(undefined, row, { driverOf }));
  const look = (site: Site, row: StorageRow): Change => {
    const before = known.get(keyOf(site.id, row.mount_path)) ?? NEW;
    const form = formOf(row);
    const options = { now: now(), plain: plainOf(row) };
    const place = { siteId: site.id, path: row.mount_path, driver: row.driver };
    const remade = before.form !== "" && before.form !== form;
    const steps: Observation[] = row.disabled
      ? [{ kind: "off" }]
      : [
          { kind: "status", status: row.status, remade },
          { kind: "expiry", error: expiryError(row, now()) },
        ];
    const signals = steps.reduce((all, step) => observe(all, step, options), before.signals);
    return change(place, signals, form);
  };
  return {
    load: () =>
      inTurn(async () => {
        const open = await store.list({ open: true, limit: MAX_OPEN });
        known.clear();
        for (const incident of open)
          known.set(keyOf(incident.siteId, incident.mountPath), {
            incident,
            signals: incident.signals,
            form: "",
          });
      }),
    listed: (site, rows) =>
      inTurn(async () => {
        const paths = new Set(rows.map(({ mount_path }) => mount_path));
        const gone = [...known].flatMap(([key, { incident }]): Change[] => {
          const [siteId = "", path = ""] = key.split("\0", 2);
          if (siteId !== site.id || paths.has(path)) return [];
          return [change({ siteId, path, driver: incident?.driver ?? "" }, {}, "")];
        });
        await commit([...gone, ...rows.map((row) => look(site, row))]);
      }),
    probed: (siteId, path, { driver, error }) =>
      inTurn(async () => {
        const { signals, form } = known.get(keyOf(siteId, path)) ?? NEW;
        const options = { now: now(), plain: (message: string) => message };
        const next = observe(signals, { kind: "probe", error }, options);
        await commit([change({ siteId, path, driver }, next, form)]);
      }),
    forgetSites: (isKnown) =>
      inTurn(async () => {
        const gone = [...known].flatMap(([key, { incident }]): Change[] => {
          const [siteId = "", path = ""] = key.split("\0", 2);
          return isKnown(siteId)
            ? []
            : [change({ siteId, path, driver: incident?.driver ?? "" }, {}, "")];
        });
        await commit(gone);
      }),
    open: () => [...known.values()].flatMap(({ incident }) => (incident ? [incident] : [])),
    at: (siteId, path) => known.get(keyOf(siteId, path))?.incident,
  };
}

/** Identifies a mount. */
export function keyOf(siteId: string, path: string): string {
  return `${siteId}\0${path}`;
}

interface Change {
  readonly key: string;
  readonly next: Known;
  readonly event: IncidentEvent | undefined;
  /** Whether the stored incident is up to date. */
  readonly isStored: boolean;
}

/** Identifies the user's version of a row: `modified` is set by users' changes only. */
function formOf({ id, driver, disabled, modified }: StorageRow): string {
  return JSON.stringify([id, driver, disabled, modified]);
}

function expiryError(row: StorageRow, time: number): string | undefined {
  const end = tokenEnd(row.driver, readAddition(row.addition) ?? {}, time);
  if (end === undefined) return undefined;
  const date = new Date(end.expires).toISOString();
  return end.expires > time
    ? `${end.item} ends at ${date}: replace it before`
    : `${end.item} ended at ${date}: replace it`;
}
