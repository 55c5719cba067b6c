import type { DriverInfo } from "../drivers/driver-info.ts";
import { secretsOf } from "../mounts/site/plain.ts";
import { readAddition, type StorageRow } from "../mounts/site/row.ts";
import type { Listing } from "../mounts/site/state.ts";
import type { Site } from "../sites/site.ts";
import { plainMessage } from "../sync/failure.ts";
import { createTicks } from "../ticks.ts";
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
/**
 * Maximum number of open incidents of a site, and of failing mounts without one that are looked at
 * in a list: one site must not use up the space and the time of all.
 */
const MAX_OPEN_OF_SITE = 1_000;
/** Incidents of a transaction. */
const STORED_AT_ONCE = 100;

export interface IncidentRegistryDeps {
  readonly store: IncidentStore;
  readonly now: () => number;
  readonly newId: () => string;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** The notifications of a change, stored in the same transaction. */
  readonly announce: (event: IncidentEvent, incident: Incident) => readonly StoredDelivery[];
  /** Called after each stored change. */
  readonly onChange: (event: IncidentEvent, incident: Incident) => void;
  /** Called when failing mounts of a site begin to be without incidents, with their number. */
  readonly onLeftOut: (site: Site, count: number) => void;
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
  /** Mounts by site and path. */
  const known = new Map<string, Map<string, Known>>();
  /** Number of open incidents, and of those of each site. */
  let openCount = 0;
  const openCounts = new Map<string, number>();
  const openCountOf = (siteId: string): number => openCounts.get(siteId) ?? 0;
  /** Sites with failing mounts that have no incidents. */
  const crowded = new Set<string>();
  const knownOf = (siteId: string, path: string): Known => known.get(siteId)?.get(path) ?? NEW;
  const keep = ({ siteId, path, next }: Change): void => {
    const ofSite = known.get(siteId) ?? new Map<string, Known>();
    const isOpen = next.incident !== undefined && next.incident.closedAt === 0;
    const added = Number(isOpen) - Number(ofSite.get(path)?.incident !== undefined);
    openCount += added;
    openCounts.set(siteId, openCountOf(siteId) + added);
    if (!isOpen && Object.keys(next.signals).length === 0 && next.form === "") ofSite.delete(path);
    else ofSite.set(path, isOpen ? next : { ...next, incident: undefined });
    if (ofSite.size > 0) known.set(siteId, ofSite);
    else {
      known.delete(siteId);
      openCounts.delete(siteId);
    }
  };
  /** @param waiting number of new incidents of the site that are not stored yet. */
  const hasSpace = (siteId: string, waiting: number): boolean =>
    openCountOf(siteId) + waiting < MAX_OPEN_OF_SITE && openCount + waiting < MAX_OPEN;
  let loading: Promise<void> = Promise.resolve();
  const turns = new Map<string, Promise<void>>();
  /** Observations of one site are stored one after another. */
  const inTurn = (siteId: string, work: () => Promise<void>): Promise<void> => {
    const mine = Promise.all([loading, turns.get(siteId)]).then(work);
    const done = mine
      .catch(() => undefined)
      .then(() => {
        if (turns.get(siteId) === done) turns.delete(siteId);
      });
    turns.set(siteId, done);
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
    for (const each of changes) keep(each);
    for (const { event, incident } of events) deps.onChange(event, incident);
  };
  const change = (
    place: { readonly siteId: string; readonly path: string; readonly driver: string },
    signals: Signals,
    form: string,
    waiting = 0,
  ): Change => {
    const { siteId, path } = place;
    const before = knownOf(siteId, path);
    const lead = leadingSignal(signals);
    const time = now();
    const old = before.incident;
    if (lead === undefined) {
      const incident = old && { ...old, signals, closedAt: time, changedAt: time };
      return {
        siteId,
        path,
        next: { signals, incident, form },
        event: old && "closed",
        isStored: false,
      };
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
        siteId,
        path,
        next: { signals, incident, form },
        isStored: isSame,
        event: isNews ? "changed" : undefined,
      };
    }
    if (!hasSpace(siteId, waiting))
      return {
        siteId,
        path,
        next: { signals, incident: undefined, form },
        event: undefined,
        isStored: true,
      };
    const incident: StoredIncident = {
      id: deps.newId(),
      siteId,
      mountPath: path,
      ...shown,
      signals,
      openedAt: time,
      changedAt: time,
      closedAt: 0,
      acknowledgedAt: 0,
      acknowledgedBy: "",
      note: "",
    };
    return {
      siteId,
      path,
      next: { signals, incident, form },
      event: "opened",
      isStored: false,
    };
  };
  const plainOf = (row: StorageRow) => (message: string) =>
    plainMessage(message, secretsOf(undefined, row, { driverOf }));
  const look = (site: Site, row: StorageRow, waiting: number): Change => {
    const before = knownOf(site.id, row.mount_path);
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
    return change(place, signals, form, waiting);
  };
  const closeAll = async (siteId: string, paths: Iterable<string>): Promise<void> => {
    let changes: Change[] = [];
    for (const path of paths) {
      const driver = knownOf(siteId, path).incident?.driver ?? "";
      changes.push(change({ siteId, path, driver }, {}, ""));
      if (changes.length < STORED_AT_ONCE) continue;
      await commit(changes);
      changes = [];
    }
    await commit(changes);
  };
  const lookAtAll = async (site: Site, rows: Iterable<StorageRow>): Promise<void> => {
    const ticks = createTicks();
    let failing = 0;
    let leftOut = 0;
    let changes: Change[] = [];
    let waiting = 0;
    const store = async (): Promise<void> => {
      await commit(changes);
      changes = [];
      waiting = 0;
    };
    for (const row of rows) {
      if (ticks.isDue()) await ticks.next();
      const isNew = knownOf(site.id, row.mount_path).incident === undefined;
      if (isNew && isFailing(row)) {
        failing += 1;
        if (failing > MAX_OPEN_OF_SITE || !hasSpace(site.id, waiting)) {
          leftOut += 1;
          continue;
        }
      }
      const next = look(site, row, waiting);
      changes.push(next);
      if (next.event === "opened") waiting += 1;
      if (changes.length >= STORED_AT_ONCE) await store();
    }
    await store();
    if (leftOut > 0 && !crowded.has(site.id)) deps.onLeftOut(site, leftOut);
    if (leftOut > 0) crowded.add(site.id);
    else crowded.delete(site.id);
  };
  return {
    load: () => {
      const mine = Promise.all(turns.values()).then(async () => {
        const open = await store.list({ open: true, limit: MAX_OPEN });
        known.clear();
        openCounts.clear();
        openCount = 0;
        for (const incident of open)
          keep({
            siteId: incident.siteId,
            path: incident.mountPath,
            next: { incident, signals: incident.signals, form: "" },
            event: undefined,
            isStored: true,
          });
      });
      loading = mine.catch(() => undefined);
      return mine;
    },
    listed: (site, rows) =>
      inTurn(site.id, async () => {
        const byPath = new Map<string, StorageRow>();
        // A list with two mounts of one path is invalid: the first one counts.
        for (const row of rows) if (!byPath.has(row.mount_path)) byPath.set(row.mount_path, row);
        const gone = [...(known.get(site.id)?.keys() ?? [])].filter((path) => !byPath.has(path));
        await closeAll(site.id, gone);
        await lookAtAll(site, byPath.values());
      }),
    probed: (siteId, path, { driver, error }) =>
      inTurn(siteId, async () => {
        const { signals, form } = knownOf(siteId, path);
        const options = { now: now(), plain: (message: string) => message };
        const next = observe(signals, { kind: "probe", error }, options);
        await commit([change({ siteId, path, driver }, next, form)]);
      }),
    forgetSites: async (isKnown) => {
      const gone = [...known.keys()].filter((siteId) => !isKnown(siteId));
      await Promise.all(
        gone.map((siteId) =>
          inTurn(siteId, () => closeAll(siteId, [...(known.get(siteId)?.keys() ?? [])])),
        ),
      );
    },
    open: () =>
      [...known.values()].flatMap((ofSite) =>
        [...ofSite.values()].flatMap(({ incident }) => (incident ? [incident] : [])),
      ),
    at: (siteId, path) => knownOf(siteId, path).incident,
  };
}

/** Identifies a mount. */
export function keyOf(siteId: string, path: string): string {
  return `${siteId}\0${path}`;
}

interface Change {
  readonly siteId: string;
  readonly path: string;
  readonly next: Known;
  readonly event: IncidentEvent | undefined;
  /** Whether the stored incident is up to date. */
  readonly isStored: boolean;
}

function isFailing({ disabled, status }: StorageRow): boolean {
  return !disabled && status !== "work" && status !== "";
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
