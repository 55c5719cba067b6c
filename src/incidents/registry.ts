import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Listing } from "../mounts/site/last-listing.ts";
import { secretsOf } from "../mounts/site/plain.ts";
import { readAddition, type StorageRow } from "../mounts/site/row.ts";
import type { Site } from "../sites/site.ts";
import { plainMessage } from "../sync/failure.ts";
import { createTicks } from "../ticks.ts";
import { type Change, changeOf, type Place } from "./change.ts";
import type { ConditionDeps } from "./condition.ts";
import { type Incident, type IncidentEvent, type Observation, observe } from "./incident.ts";
import { MAX_OPEN, MAX_OPEN_OF_SITE, type MountSignals, OpenIncidents } from "./open-incidents.ts";
import { createSiteOrder } from "./site-order.ts";
import type { IncidentStore, StoredIncident } from "./store.ts";
import { tokenEnd } from "./token-end.ts";

/** Incidents of a transaction. */
const STORED_AT_ONCE = 100;

export interface IncidentRegistryDeps extends ConditionDeps {
  readonly store: IncidentStore;
  readonly driverOf: (name: string) => DriverInfo | undefined;
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

export function createIncidentRegistry(deps: IncidentRegistryDeps): IncidentRegistry {
  const { store } = deps;
  const known = new OpenIncidents();
  const order = createSiteOrder();
  /** Sites with failing mounts that have no incidents. */
  const crowded = new Set<string>();
  const commit = (changes: readonly Change[]) => commitChanges(changes, known, deps);
  const closeAll = (siteId: string, paths: readonly string[]) =>
    inParts(paths, commit, (path) => {
      const { incident } = known.get(siteId, path);
      const place = { siteId, path, driver: incident?.driver ?? "" };
      return change(place, { signals: {}, form: "" }, 0);
    });
  const change = (
    place: Place,
    next: Pick<MountSignals, "signals" | "form">,
    waiting: number,
  ): Change =>
    changeOf(place, known.get(place.siteId, place.path), next, {
      time: deps.now(),
      newId: deps.newId,
      hasSpace: known.hasSpace(place.siteId, waiting),
    });
  const observeRows = async (site: Site, rows: Iterable<StorageRow>): Promise<void> => {
    let failing = 0;
    let leftOut = 0;
    await inParts(rows, commit, (row, waiting) => {
      const isNew = known.get(site.id, row.mount_path).incident === undefined;
      if (isNew && isFailing(row)) {
        failing += 1;
        if (failing > MAX_OPEN_OF_SITE || !known.hasSpace(site.id, waiting)) {
          leftOut += 1;
          return undefined;
        }
      }
      const before = known.get(site.id, row.mount_path);
      const place = { siteId: site.id, path: row.mount_path, driver: row.driver };
      return change(place, observeRow(row, before, deps), waiting);
    });
    if (leftOut > 0 && !crowded.has(site.id)) deps.onLeftOut(site, leftOut);
    if (leftOut > 0) crowded.add(site.id);
    else crowded.delete(site.id);
  };
  return {
    load: () =>
      order.ofAll(async () =>
        known.reset(await store.list({ open: true, subject: "mount", limit: MAX_OPEN })),
      ),
    listed: (site, rows) =>
      order.ofSite(site.id, async () => {
        const byPath = new Map<string, StorageRow>();
        // A list with two mounts of one path is invalid: the first one counts.
        for (const row of rows) if (!byPath.has(row.mount_path)) byPath.set(row.mount_path, row);
        const gone = known.paths(site.id).filter((path) => !byPath.has(path));
        await closeAll(site.id, gone);
        await observeRows(site, byPath.values());
      }),
    probed: (siteId, path, { driver, error }) =>
      order.ofSite(siteId, async () => {
        const { signals: before, form } = known.get(siteId, path);
        const options = { now: deps.now(), plain: (message: string) => message };
        const signals = observe(before, { kind: "probe", error }, options);
        await commit([change({ siteId, path, driver }, { signals, form }, 0)]);
      }),
    forgetSites: async (isKnown) => {
      const gone = known.siteIds().filter((siteId) => !isKnown(siteId));
      await Promise.all(
        gone.map((siteId) => order.ofSite(siteId, () => closeAll(siteId, known.paths(siteId)))),
      );
    },
    open: () => known.all(),
    at: (siteId, path) => known.get(siteId, path).incident,
  };
}

/** Identifies a mount. */
export function keyOf(siteId: string, path: string): string {
  return `${siteId}\0${path}`;
}

/**
 * Commits changes in parts of a limited size, in ticks of the event loop.
 *
 * @param changeOfItem returns the change of an item; undefined: none. `waiting` is the number of
 *   opened incidents of the part.
 */
async function inParts<T>(
  items: Iterable<T>,
  commit: (changes: readonly Change[]) => Promise<void>,
  changeOfItem: (item: T, waiting: number) => Change | undefined,
): Promise<void> {
  const ticks = createTicks();
  let changes: Change[] = [];
  let waiting = 0;
  for (const item of items) {
    if (ticks.isDue()) await ticks.next();
    const change = changeOfItem(item, waiting);
    if (change === undefined) continue;
    changes.push(change);
    if (change.event === "opened") waiting += 1;
    if (changes.length < STORED_AT_ONCE) continue;
    await commit(changes);
    changes = [];
    waiting = 0;
  }
  await commit(changes);
}

/** Stores changes with their notifications in one transaction, and then keeps them in memory. */
async function commitChanges(
  changes: readonly Change[],
  known: OpenIncidents,
  {
    store,
    announce,
    join,
    onChange,
  }: Pick<IncidentRegistryDeps, "store" | "announce" | "join" | "onChange">,
): Promise<void> {
  const events: { readonly event: IncidentEvent; readonly incident: StoredIncident }[] = [];
  for (const { event, next } of changes) {
    if (event === undefined || next.incident === undefined) continue;
    const incident =
      event === "opened" ? next.incident : await withAcknowledgement(next.incident, store);
    events.push({ event, incident });
  }
  const writes = changes.flatMap(({ next, isStored }) =>
    next.incident !== undefined && !isStored ? [next.incident] : [],
  );
  if (writes.length > 0)
    await store.write(
      writes,
      events.flatMap(({ event, incident }) => announce(event, incident)),
      join,
    );
  for (const { siteId, path, next } of changes) known.set(siteId, path, next);
  for (const { event, incident } of events) onChange(event, incident);
}

/** Adds the acknowledgement, which any process stores. */
async function withAcknowledgement(
  incident: StoredIncident,
  store: Pick<IncidentStore, "get">,
): Promise<StoredIncident> {
  const stored = await store.get(incident.id);
  if (stored === undefined) return incident;
  const { acknowledgedAt, acknowledgedBy, note } = stored;
  return { ...incident, acknowledgedAt, acknowledgedBy, note };
}

/** Signals of a mount after a list of its site. */
function observeRow(
  row: StorageRow,
  before: MountSignals,
  { now, driverOf }: Pick<IncidentRegistryDeps, "now" | "driverOf">,
): Pick<MountSignals, "signals" | "form"> {
  const time = now();
  const form = formOf(row);
  const plain = (message: string): string =>
    plainMessage(message, secretsOf(undefined, row, { driverOf }));
  const remade = before.form !== "" && before.form !== form;
  const steps: Observation[] = row.disabled
    ? [{ kind: "off" }]
    : [
        { kind: "status", status: row.status, remade },
        { kind: "expiry", error: expiryError(row, time) },
      ];
  const signals = steps.reduce(
    (all, step) => observe(all, step, { now: time, plain }),
    before.signals,
  );
  return { signals, form };
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
