import type { Listed } from "../mounts/site/listing.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import { type Listing, listingForm } from "../mounts/site/state.ts";
import { hasCome } from "../periodic.ts";
import type { Site } from "../sites/site.ts";
import { SiteFailure } from "../sync/failure.ts";
import { createTicks } from "../ticks.ts";

/** Longest pause after failures, in milliseconds. */
const LONGEST = 6 * 3_600_000;
/** Number of consecutive network errors that open an incident, and the pause between them. */
const NETWORK_ERRORS = 3;
const CONFIRM = 120_000;

export interface ProbeDeps {
  /** Mean interval between two listings of a mount in milliseconds, randomized by half. 0: no listings. */
  readonly interval: number;
  readonly isFree: (site: Site, row: StorageRow) => boolean;
  readonly list: (
    site: Site,
    row: StorageRow,
    others: readonly string[],
  ) => Promise<Listed | undefined>;
  /** Reads the rows of a site now. @throws SiteFailure. */
  readonly rowsOf: (site: Site) => Promise<readonly StorageRow[]>;
  /** Last listing of a mount, by a probe or by a user. */
  readonly lastOf: (siteId: string, path: string) => Listing | undefined;
  /** Stores the result of a listing. @param error empty: the listing worked. */
  readonly onResult: (site: Site, row: StorageRow, error: string) => Promise<void>;
  readonly now: () => number;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

/** Periodic listings of mounts at their providers. */
export interface Probes {
  /** Updates the mounts of a site. */
  listed(site: Site, rows: readonly StorageRow[]): void;
  /** Starts due listings; resolves when they are done. */
  run(): Promise<void>;
}

interface Turn {
  readonly site: Site;
  readonly row: StorageRow;
  /** Paths of all mounts of the site. */
  readonly others: readonly string[];
  readonly form: string;
  /** Earliest time of a listing that does not follow another one. */
  readonly first: number;
  /** Share of the interval, 0.5 to 1.5. */
  readonly share: number;
  readonly isRunning: boolean;
}

/**
 * Lists mounts with a refresh, which asks the provider. A new or changed mount is listed at once: the
 * site has just asked the provider too. After an error of the classes `credential` and `person`, the
 * mount is not listed again until its row changes: each attempt would be a login, and providers lock
 * accounts after several failures.
 */
export function createProbes(deps: ProbeDeps): Probes {
  const { interval, now, random, lastOf } = deps;
  const turns = new Map<string, Turn>();
  /** Sites whose mounts are known: mounts that appear later are new. */
  const known = new Set<string>();
  const isDue = (turn: Turn): boolean => {
    if (turn.isRunning) return false;
    const time = now();
    const last = lastOf(turn.site.id, turn.row.mount_path);
    if (last === undefined || last.form !== turn.form)
      return hasCome(turn.first, { now: time, longest: 1.5 * interval });
    if (needsUser(last.class)) return false;
    const pause = pauseAfter(last, interval) * turn.share;
    return (
      hasCome(last.at + pause, { now: time, longest: pause }) &&
      hasCome(turn.first, { now: time, longest: 1.5 * interval })
    );
  };
  const isThere = async ({ site, row, form }: Turn): Promise<boolean> => {
    try {
      const rows = await deps.rowsOf(site);
      const now = rows.find(({ mount_path: path }) => path === row.mount_path);
      return now !== undefined && !now.disabled && listingForm(now) === form;
    } catch (failure) {
      if (failure instanceof SiteFailure) return false;
      throw failure;
    }
  };
  const probe = async (key: string, turn: Turn): Promise<void> => {
    const { site, row } = turn;
    const listed = await deps.list(site, row, turn.others);
    // A mount that was deleted, disabled or changed after the site was read is no failing mount.
    const isOutdated = listed?.outcome === "fails" && !(await isThere(turn));
    // The row was changed meanwhile: the result does not apply to it.
    const current = turns.get(key);
    if (current === undefined || current.form !== turn.form) return;
    if (listed === undefined || listed.outcome === "unknown" || isOutdated) {
      turns.set(key, { ...current, first: now() + Math.round(interval * (0.5 + random())) });
      return;
    }
    await deps.onResult(site, row, listed.outcome === "works" ? "" : listed.error);
  };
  return {
    listed: (site, rows) => {
      if (interval === 0) return;
      const keys = new Set<string>();
      const others = rows.map(({ mount_path: path }) => path);
      for (const row of rows) {
        if (row.disabled || row.status !== "work") continue;
        const key = `${site.id}\0${row.mount_path}`;
        keys.add(key);
        const before = turns.get(key);
        const form = listingForm(row);
        const isSame = before?.form === form;
        const isNew = before !== undefined || known.has(site.id);
        const first = isNew ? now() : now() + Math.round(interval * random());
        turns.set(key, {
          site,
          row,
          others,
          form,
          first: isSame ? before.first : first,
          share: isSame ? before.share : 0.5 + random(),
          isRunning: isSame && before.isRunning,
        });
      }
      known.add(site.id);
      for (const [key, turn] of turns)
        if (turn.site.id === site.id && !keys.has(key)) turns.delete(key);
    },
    run: async () => {
      const begun: Promise<void>[] = [];
      const ticks = createTicks();
      for (const key of [...turns.keys()]) {
        if (ticks.isDue()) await ticks.next();
        const turn = turns.get(key);
        if (turn === undefined || !isDue(turn) || !deps.isFree(turn.site, turn.row)) continue;
        turns.set(key, { ...turn, isRunning: true });
        const ended = (first: (current: Turn) => number): void => {
          const current = turns.get(key);
          if (current === undefined) return;
          turns.set(key, {
            ...current,
            isRunning: false,
            first: first(current),
            share: 0.5 + random(),
          });
        };
        begun.push(
          probe(key, turn).then(
            () => ended(({ first }) => first),
            (error) => {
              ended(() => now() + interval);
              deps.onError(error);
            },
          ),
        );
      }
      await Promise.all(begun);
    },
  };
}

/** Reports whether only a user can resolve an error: each further attempt may be a login. */
export function needsUser(kind: string): boolean {
  return kind === "credential" || kind === "person";
}

/**
 * Mean pause after a listing, in milliseconds. Network errors are confirmed soon, because the third
 * one in a row opens an incident; other failures double the interval.
 */
function pauseAfter({ failures, class: kind }: Listing, interval: number): number {
  if (kind === "network" && failures < NETWORK_ERRORS) return Math.min(interval, CONFIRM);
  return Math.min(interval * 2 ** Math.min(failures, 20), Math.max(interval, LONGEST));
}
