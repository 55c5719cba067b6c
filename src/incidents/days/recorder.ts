import type { Text } from "../../messages/message.ts";
import { createTicks } from "../../ticks.ts";
import { dayOf, KEPT_DAYS } from "./day.ts";
import { firstSpan, isOutdated, type MountSpan, type MountState, nextSpan } from "./mount-span.ts";
import { countObservation, type SiteDay, type SiteObservation } from "./site-day.ts";
import type { DayChange, DayStore } from "./store.ts";

/** Interval of storing the time of a site that does not change, in milliseconds. */
const STORE = 60_000;
/** Maximum number of mounts of a site that are kept, as many as a list may have. */
const KEPT_MOUNTS = 10_000;
/** Changes of mounts per transaction. */
const STORED_AT_ONCE = 100;

/** Mount in the list of a site. */
export interface ListedMount {
  readonly path: string;
  /** Row on the server, which keeps its number when its path is changed. */
  readonly rowId: number;
  /** `undefined`: it still starts, so that its state is unknown. */
  readonly state: Exclude<MountState, "gone"> | undefined;
  /** Failure, for a mount that fails; without secrets. */
  readonly reason: () => Text;
}

export interface DayRecorderDeps {
  readonly store: Pick<DayStore, "write" | "siteDays" | "allSpans" | "forgetSites">;
  readonly now: () => number;
}

/**
 * Records the days of sites and mounts, in the process with the lease. A site is one row a day, written
 * once a minute; a mount is written when its state changes, and once a day unless it works.
 */
export interface DayRecorder {
  /** Reads what another process has stored, and begins anew. */
  load(): Promise<void>;
  /** Records an observation of a site. */
  observe(siteId: string, observation: Pick<SiteObservation, "state" | "reason">): void;
  /** Records a list of a site's mounts, in ticks of the event loop. */
  listed(siteId: string, mounts: readonly ListedMount[]): Promise<void>;
  /** Stores what was recorded. */
  store(): Promise<void>;
  /** Removes the oldest days, mounts that are gone since an earlier day, and removed sites. */
  forget(isKnown: (siteId: string) => boolean): Promise<void>;
}

/** A site in memory. */
interface RecordedSite {
  observation: SiteObservation | undefined;
  readonly days: Map<number, SiteDay>;
  readonly spans: Map<string, MountSpan>;
  /** Path by row, as last listed. */
  rows: ReadonlyMap<number, string>;
  /** Days that are not stored yet. */
  readonly unstored: Set<number>;
  storedAt: number;
}

export function createDayRecorder({ store, now }: DayRecorderDeps): DayRecorder {
  let sites = new Map<string, RecordedSite>();
  /** Changes that are not stored yet. */
  let changes: DayChange[] = [];
  let spans = new Map<string, MountSpan>();

  const siteOf = (siteId: string): RecordedSite => {
    const known = sites.get(siteId);
    if (known !== undefined) return known;
    const site = newSite();
    sites.set(siteId, site);
    return site;
  };
  const count = (siteId: string, site: RecordedSite, time: number): void => {
    for (const day of countObservation(siteId, site.observation, time, (at) => site.days.get(at))) {
      site.days.set(day.day, day);
      site.unstored.add(day.day);
    }
  };
  const put = (site: RecordedSite, span: MountSpan): void => {
    site.spans.set(span.path, span);
    spans.set(keyOf(span), span);
  };
  /** Ends the present state of a mount and begins another. */
  const change = (
    site: RecordedSite,
    span: MountSpan,
    next: Pick<MountSpan, "state" | "reason">,
  ): void => {
    const day = dayOf(now());
    const workedOn = (at: number): number => site.days.get(at)?.worked ?? 0;
    const result = nextSpan(span, next, { day, at: workedOn(day) }, workedOn);
    changes.push(...result.ended.map((ended): DayChange => ({ kind: "add", day: ended })));
    put(site, result.span);
    site.storedAt = Number.NEGATIVE_INFINITY;
  };
  const move = (site: RecordedSite, span: MountSpan, to: string): void => {
    changes.push({ kind: "move", siteId: span.siteId, from: span.path, to });
    site.spans.delete(span.path);
    spans.delete(keyOf(span));
    put(site, { ...span, path: to });
  };
  const remove = (site: RecordedSite, span: MountSpan): void => {
    site.spans.delete(span.path);
    spans.delete(keyOf(span));
    changes.push({ kind: "remove", siteId: span.siteId, path: span.path });
  };
  /** Removes the mounts that went first: a server may list others each time. */
  const removeSurplus = (site: RecordedSite): void => {
    const surplus = site.spans.size - KEPT_MOUNTS;
    if (surplus <= 0) return;
    const gone = [...site.spans.values()].filter(({ state }) => state === "gone");
    const oldest = gone.toSorted((a, b) => a.day - b.day || a.began - b.began);
    for (const span of oldest.slice(0, surplus)) remove(site, span);
  };
  return {
    load: async () => {
      const [days, stored] = await Promise.all([store.siteDays(), store.allSpans()]);
      sites = new Map();
      changes = [];
      spans = new Map();
      for (const day of days) siteOf(day.siteId).days.set(day.day, day);
      for (const span of stored) siteOf(span.siteId).spans.set(span.path, span);
    },
    observe: (siteId, { state, reason }) => {
      const site = siteOf(siteId);
      const at = now();
      count(siteId, site, at);
      if (site.observation?.state !== state) site.storedAt = Number.NEGATIVE_INFINITY;
      site.observation = { at, state, reason };
    },
    listed: async (siteId, mounts) => {
      const ticks = createTicks();
      const site = siteOf(siteId);
      const day = dayOf(now());
      const at = site.days.get(day)?.worked ?? 0;
      const listed = new Set(mounts.map(({ path }) => path));
      // A mount whose path was changed keeps its days.
      for (const { path, rowId } of mounts) {
        const from = site.rows.get(rowId) ?? path;
        const span = site.spans.get(from);
        const isNew = (site.spans.get(path)?.state ?? "gone") === "gone";
        if (span !== undefined && from !== path && isNew && !listed.has(from))
          move(site, span, path);
      }
      for (const { path, state, reason } of mounts) {
        // The reason of a new failure is searched for secrets.
        if (ticks.isDue()) await ticks.next();
        // Another process has had the lease meanwhile.
        if (sites.get(siteId) !== site) return;
        const span = site.spans.get(path);
        if (span === undefined) {
          const first = {
            state: state ?? "unmonitored",
            reason: state === "fails" ? reason() : "",
          };
          put(site, firstSpan({ siteId, path }, first, { day, at }));
          continue;
        }
        const next = state ?? (span.state === "gone" ? "unmonitored" : span.state);
        if (next === span.state && !isOutdated(span, day)) continue;
        const why = next === span.state ? span.reason : "";
        change(site, span, {
          state: next,
          reason: state === "fails" ? reason() : why,
        });
      }
      for (const span of [...site.spans.values()])
        if (!listed.has(span.path) && span.state !== "gone")
          change(site, span, { state: "gone", reason: "" });
      removeSurplus(site);
      site.rows = new Map(mounts.map(({ rowId, path }) => [rowId, path]));
    },
    store: async () => {
      const time = now();
      const ticks = createTicks();
      const begun = spans;
      const due = [...sites.values()].filter(
        ({ storedAt, unstored }) => unstored.size > 0 && Math.abs(time - storedAt) >= STORE,
      );
      // The clocks of sites are stored before the times of mounts on them.
      while (due.length > 0 || changes.length > 0 || spans.size > 0) {
        const partOfSites = due.slice(0, STORED_AT_ONCE);
        const days = partOfSites.flatMap(({ unstored, days: all }) =>
          [...unstored].flatMap((day) => all.get(day) ?? []),
        );
        const partOfChanges = changes.slice(0, STORED_AT_ONCE);
        // Spans follow the changes: a span at a path that a mount has left would be moved.
        const partOfSpans = changes.length > STORED_AT_ONCE ? [] : firstOf(spans, STORED_AT_ONCE);
        await store.write({
          sites: days,
          changes: partOfChanges,
          spans: partOfSpans.map(([, span]) => span),
        });
        // Another process has had the lease meanwhile.
        if (begun !== spans) return;
        due.splice(0, partOfSites.length);
        for (const site of partOfSites) site.storedAt = time;
        for (const { siteId, day } of days) {
          const site = sites.get(siteId);
          const stored = days.find((each) => each.siteId === siteId && each.day === day);
          if (site?.days.get(day) === stored) site?.unstored.delete(day);
        }
        changes.splice(0, partOfChanges.length);
        for (const [key, span] of partOfSpans) if (spans.get(key) === span) spans.delete(key);
        // SQLite writes without leaving the tick.
        await ticks.next();
        if (begun !== spans) return;
      }
    },
    forget: async (isKnown) => {
      const today = dayOf(now());
      for (const [siteId, site] of [...sites]) {
        if (!isKnown(siteId)) {
          sites.delete(siteId);
          for (const [key, span] of spans) if (span.siteId === siteId) spans.delete(key);
          continue;
        }
        const oldest = [...site.days.keys()].toSorted((a, b) => b - a)[KEPT_DAYS - 1];
        for (const day of [...site.days.keys()])
          if (oldest !== undefined && day < oldest) site.days.delete(day);
        if (oldest !== undefined) changes.push({ kind: "forget", siteId, before: oldest });
        for (const span of [...site.spans.values()]) {
          if (span.state === "gone" && span.day < today) remove(site, span);
        }
      }
      await store.forgetSites();
    },
  };
}

function newSite(): RecordedSite {
  return {
    observation: undefined,
    days: new Map(),
    spans: new Map(),
    rows: new Map(),
    unstored: new Set(),
    storedAt: Number.NEGATIVE_INFINITY,
  };
}

function firstOf<K, V>(map: ReadonlyMap<K, V>, most: number): readonly (readonly [K, V])[] {
  const entries: (readonly [K, V])[] = [];
  for (const entry of map) {
    if (entries.length === most) break;
    entries.push(entry);
  }
  return entries;
}

function keyOf({ siteId, path }: Pick<MountSpan, "siteId" | "path">): string {
  return `${siteId}\0${path}`;
}
