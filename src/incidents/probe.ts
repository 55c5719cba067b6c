import { type Listing, listingForm } from "../mounts/site/last-listing.ts";
import type { Listed } from "../mounts/site/listing.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import { hasCome } from "../periodic.ts";
import type { Site } from "../sites/site.ts";
import { SiteFailure } from "../sync/failure.ts";
import { createTicks } from "../ticks.ts";
import { keyOf } from "./registry.ts";

/** Longest pause after failures, in milliseconds. */
const LONGEST_PAUSE = 6 * 3_600_000;
/** Number of consecutive network errors that open an incident. */
const NETWORK_ERRORS = 3;
/** Longest pause between them, in milliseconds. */
const CONFIRMATION_PAUSE = 120_000;

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

/** Mount that is listed periodically. */
interface ProbedMount {
  readonly site: Site;
  readonly row: StorageRow;
  /** Paths of all mounts of the site. */
  readonly others: readonly string[];
  /** Identifies the version of the row (`listingForm`). */
  readonly form: string;
  /** Earliest time of a listing that does not follow another one. */
  readonly first: number;
  /** Random factor of the pause after a listing, 0.5 to 1.5. */
  readonly share: number;
  readonly isRunning: boolean;
}

/**
 * Periodic listings of mounts with a refresh, which asks the provider. A new or changed mount is listed
 * at once: the site has just asked the provider too. After an error of the classes `credential` and
 * `person`, the mount is not listed again until its row changes: each attempt would be a login, and
 * providers lock accounts after several failures.
 */
export class Probes {
  readonly #deps: ProbeDeps;
  /** Mounts by site and path. */
  readonly #mounts = new Map<string, ProbedMount>();
  /** Sites whose mounts are known: mounts that appear later are new. */
  readonly #known = new Set<string>();

  constructor(deps: ProbeDeps) {
    this.#deps = deps;
  }

  /** Takes over the mounts of a site whose list was read. */
  listed(site: Site, rows: readonly StorageRow[]): void {
    if (this.#deps.interval === 0) return;
    const keys = new Set<string>();
    const others = rows.map(({ mount_path: path }) => path);
    for (const row of rows) {
      if (row.disabled || row.status !== "work") continue;
      const key = keyOf(site.id, row.mount_path);
      keys.add(key);
      this.#mounts.set(key, this.#updated(site, row, others));
    }
    this.#known.add(site.id);
    for (const [key, mount] of this.#mounts)
      if (mount.site.id === site.id && !keys.has(key)) this.#mounts.delete(key);
  }

  /** Starts due listings; resolves when they are done. */
  async run(): Promise<void> {
    const { isFree } = this.#deps;
    const running: Promise<void>[] = [];
    const ticks = createTicks();
    for (const key of [...this.#mounts.keys()]) {
      if (ticks.isDue()) await ticks.next();
      const mount = this.#mounts.get(key);
      if (mount === undefined || !this.#isDue(mount) || !isFree(mount.site, mount.row)) continue;
      running.push(this.#run(key, mount));
    }
    await Promise.all(running);
  }

  /** A mount as it is listed now. A changed one is due at once. */
  #updated(site: Site, row: StorageRow, others: readonly string[]): ProbedMount {
    const { interval, now, random } = this.#deps;
    const before = this.#mounts.get(keyOf(site.id, row.mount_path));
    const form = listingForm(row);
    if (before?.form === form) return { ...before, site, row, others };
    const isNewOrChanged = before !== undefined || this.#known.has(site.id);
    return {
      site,
      row,
      others,
      form,
      first: isNewOrChanged ? now() : now() + Math.round(interval * random()),
      share: 0.5 + random(),
      isRunning: false,
    };
  }

  #isDue({ site, row, form, first, share, isRunning }: ProbedMount): boolean {
    if (isRunning) return false;
    const { interval } = this.#deps;
    const now = this.#deps.now();
    const isFirstDue = hasCome(first, { now, longest: 1.5 * interval });
    const last = this.#deps.lastOf(site.id, row.mount_path);
    if (last === undefined || last.form !== form) return isFirstDue;
    if (needsUser(last.class)) return false;
    const pause = pauseAfter(last, interval) * share;
    return isFirstDue && hasCome(last.at + pause, { now, longest: pause });
  }

  async #run(key: string, mount: ProbedMount): Promise<void> {
    const { interval, now, random, onError } = this.#deps;
    const update = (change: Partial<ProbedMount>): void => {
      const current = this.#mounts.get(key);
      if (current !== undefined) this.#mounts.set(key, { ...current, ...change });
    };
    update({ isRunning: true });
    try {
      await this.#probe(key, mount);
      update({ isRunning: false, share: 0.5 + random() });
    } catch (error) {
      update({ isRunning: false, share: 0.5 + random(), first: now() + interval });
      onError(error);
    }
  }

  async #probe(key: string, mount: ProbedMount): Promise<void> {
    const { interval, now, random, list, onResult } = this.#deps;
    const { site, row } = mount;
    const listed = await list(site, row, mount.others);
    // The mount may have been deleted, disabled or changed after the list of the site was read.
    const isOutdated = listed?.outcome === "fails" && !(await this.#isThere(mount));
    // The row was changed meanwhile: the result does not apply to it.
    const current = this.#mounts.get(key);
    if (current === undefined || current.form !== mount.form) return;
    if (listed === undefined || listed.outcome === "unknown" || isOutdated) {
      const first = now() + Math.round(interval * (0.5 + random()));
      this.#mounts.set(key, { ...current, first });
      return;
    }
    await onResult(site, row, listed.outcome === "works" ? "" : listed.error);
  }

  async #isThere({ site, row, form }: ProbedMount): Promise<boolean> {
    try {
      const rows = await this.#deps.rowsOf(site);
      const now = rows.find(({ mount_path: path }) => path === row.mount_path);
      return now !== undefined && !now.disabled && listingForm(now) === form;
    } catch (failure) {
      if (failure instanceof SiteFailure) return false;
      throw failure;
    }
  }
}

/** Reports whether only a user can resolve an error: each further attempt may be a login. */
export function needsUser(errorClass: string): boolean {
  return errorClass === "credential" || errorClass === "person";
}

/**
 * Mean pause after a listing, in milliseconds. Network errors are confirmed soon, because the third
 * one in a row opens an incident; other failures double the interval.
 */
function pauseAfter({ failures, class: errorClass }: Listing, interval: number): number {
  if (errorClass === "network" && failures < NETWORK_ERRORS)
    return Math.min(interval, CONFIRMATION_PAUSE);
  return Math.min(interval * 2 ** Math.min(failures, 20), Math.max(interval, LONGEST_PAUSE));
}
