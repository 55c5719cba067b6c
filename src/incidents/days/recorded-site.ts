import type { Text } from "../../messages/message.ts";
import { createTicks } from "../../ticks.ts";
import { dayOf, KEPT_DAYS } from "./day.ts";
import {
  firstSpan,
  isOutdated,
  type MountSpan,
  type MountState,
  nextSpan,
  type SiteTime,
} from "./mount-span.ts";
import type { PendingChanges } from "./pending-changes.ts";
import { countObservation, type SiteDay, type SiteObservation } from "./site-day.ts";

/** Interval of storing the time of a site that does not change, in milliseconds. */
const STORE = 60_000;
/** Maximum number of mounts of a site that are kept, as many as a list may have. */
const KEPT_MOUNTS = 10_000;

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

/** Days of a site and spans of its mounts in memory. Changes of mounts become pending. */
export class RecordedSite {
  readonly #id: string;
  readonly #pending: PendingChanges;
  readonly #now: () => number;
  #observation: SiteObservation | undefined;
  readonly #days = new Map<number, SiteDay>();
  readonly #spans = new Map<string, MountSpan>();
  /** Path by row, as last listed. */
  #rows: ReadonlyMap<number, string> = new Map();
  /** Days that are not stored yet. */
  readonly #unstored = new Set<number>();
  #storedAt = Number.NEGATIVE_INFINITY;

  constructor(id: string, pending: PendingChanges, now: () => number) {
    this.#id = id;
    this.#pending = pending;
    this.#now = now;
  }

  /** Adds a stored day. */
  loadDay(day: SiteDay): void {
    this.#days.set(day.day, day);
  }

  /** Adds a stored span. */
  loadSpan(span: MountSpan): void {
    this.#spans.set(span.path, span);
  }

  observe({ state, reason }: Pick<SiteObservation, "state" | "reason">): void {
    const at = this.#now();
    const before = this.#observation;
    for (const day of countObservation(this.#id, before, at, (each) => this.#days.get(each))) {
      this.#days.set(day.day, day);
      this.#unstored.add(day.day);
    }
    if (before?.state !== state) this.#storeSoon();
    this.#observation = { at, state, reason };
  }

  /**
   * Records a list of the mounts, in ticks of the event loop.
   *
   * @param isCurrent false: another process has had the lease meanwhile, and the rest is left out.
   */
  async listed(mounts: readonly ListedMount[], isCurrent: () => boolean): Promise<void> {
    const ticks = createTicks();
    const listed = new Set(mounts.map(({ path }) => path));
    this.#moveRenamed(mounts, listed);
    for (const mount of mounts) {
      // The reason of a new failure is searched for secrets.
      if (ticks.isDue()) await ticks.next();
      if (!isCurrent()) return;
      this.#record(mount);
    }
    for (const span of [...this.#spans.values()])
      if (!listed.has(span.path) && span.state !== "gone")
        this.#change(span, { state: "gone", reason: "" });
    this.#removeSurplus();
    this.#rows = new Map(mounts.map(({ rowId, path }) => [rowId, path]));
  }

  /** Days to store; empty if they were stored a short time ago. */
  daysToStore(time: number): readonly SiteDay[] {
    if (Math.abs(time - this.#storedAt) < STORE) return [];
    return [...this.#unstored].flatMap((day) => this.#days.get(day) ?? []);
  }

  /** Notes days that were stored at a time. Days that have changed meanwhile are stored again. */
  markStored(days: readonly SiteDay[], time: number): void {
    this.#storedAt = time;
    for (const day of days) if (this.#days.get(day.day) === day) this.#unstored.delete(day.day);
  }

  /** Removes the oldest days, and mounts that are gone since an earlier day. */
  forgetOld(): void {
    const today = dayOf(this.#now());
    const oldest = [...this.#days.keys()].toSorted((a, b) => b - a)[KEPT_DAYS - 1];
    if (oldest !== undefined) {
      for (const day of [...this.#days.keys()]) if (day < oldest) this.#days.delete(day);
      this.#pending.add({ kind: "forget", siteId: this.#id, before: oldest });
    }
    for (const span of [...this.#spans.values()])
      if (span.state === "gone" && span.day < today) this.#remove(span);
  }

  /** A mount whose path was changed keeps its days. */
  #moveRenamed(mounts: readonly ListedMount[], listed: ReadonlySet<string>): void {
    for (const { path, rowId } of mounts) {
      const from = this.#rows.get(rowId) ?? path;
      const span = this.#spans.get(from);
      const isNew = (this.#spans.get(path)?.state ?? "gone") === "gone";
      if (span !== undefined && from !== path && isNew && !listed.has(from)) this.#move(span, path);
    }
  }

  #record({ path, state, reason }: ListedMount): void {
    const span = this.#spans.get(path);
    if (span === undefined) {
      const first = {
        state: state ?? "unmonitored",
        reason: state === "fails" ? reason() : "",
      };
      this.#put(firstSpan({ siteId: this.#id, path }, first, this.#time()));
      return;
    }
    const next = state ?? (span.state === "gone" ? "unmonitored" : span.state);
    if (next === span.state && !isOutdated(span, this.#time().day)) return;
    const known = next === span.state ? span.reason : "";
    this.#change(span, { state: next, reason: state === "fails" ? reason() : known });
  }

  /** Ends the present state of a mount and begins another. */
  #change(span: MountSpan, next: Pick<MountSpan, "state" | "reason">): void {
    const result = nextSpan(span, next, this.#time(), (day) => this.#clockOf(day));
    for (const ended of result.ended) this.#pending.add({ kind: "add", day: ended });
    this.#put(result.span);
    this.#storeSoon();
  }

  #move(span: MountSpan, to: string): void {
    this.#pending.add({ kind: "move", siteId: this.#id, from: span.path, to });
    this.#spans.delete(span.path);
    this.#pending.delete(span);
    this.#put({ ...span, path: to });
  }

  #remove(span: MountSpan): void {
    this.#spans.delete(span.path);
    this.#pending.delete(span);
    this.#pending.add({ kind: "remove", siteId: this.#id, path: span.path });
  }

  /** Removes the mounts that went first: a server may list others each time. */
  #removeSurplus(): void {
    const surplus = this.#spans.size - KEPT_MOUNTS;
    if (surplus <= 0) return;
    const gone = [...this.#spans.values()].filter(({ state }) => state === "gone");
    const oldest = gone.toSorted((a, b) => a.day - b.day || a.began - b.began);
    for (const span of oldest.slice(0, surplus)) this.#remove(span);
  }

  #put(span: MountSpan): void {
    this.#spans.set(span.path, span);
    this.#pending.put(span);
  }

  /** The site's clock now. */
  #time(): SiteTime {
    const day = dayOf(this.#now());
    return { day, at: this.#clockOf(day) };
  }

  /** The site's clock at the end of a day, or now. */
  #clockOf(day: number): number {
    return this.#days.get(day)?.worked ?? 0;
  }

  #storeSoon(): void {
    this.#storedAt = Number.NEGATIVE_INFINITY;
  }
}
