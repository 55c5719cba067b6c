import { hasCome } from "../periodic.ts";
import type { SiteRow } from "../sites/settings/client.ts";
import { SiteFailure } from "../sync/failure.ts";

/**
 * Settings whose rows only the upstream knows: the value of `index_progress`, which its indexer writes,
 * and the role names of `default_role`.
 */
export const OWN_ROWS: ReadonlySet<string> = new Set(["index_progress", "default_role"]);

/** Validity of such rows before the upstream is asked again, in milliseconds. */
const KEPT = 1_000;

/** The upstream's own rows of these settings. */
export interface OwnRows {
  /** Rows of the last read, by key; the same map until a row changes. */
  last(): ReadonlyMap<string, SiteRow>;
  /** Reads rows that are older than a second. An unavailable upstream changes nothing. */
  refresh(): Promise<void>;
}

/**
 * @param list reads the upstream's list of settings.
 * @param now milliseconds.
 * @param kept validity of rows in milliseconds. Default: 1,000.
 */
export function createOwnRows(
  list: () => Promise<readonly SiteRow[]>,
  now: () => number,
  kept = KEPT,
): OwnRows {
  let rows: ReadonlyMap<string, SiteRow> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    try {
      const found = (await list()).filter(({ key }) => OWN_ROWS.has(key));
      if (!isSame(rows, found)) rows = new Map(found.map((row) => [row.key, row]));
    } catch (error) {
      if (!(error instanceof SiteFailure)) throw error;
    }
    // Also after a failure: calls must not retry an unavailable upstream each time.
    readAt = now();
  };
  return {
    last: () => rows,
    refresh: async () => {
      if (!hasCome(readAt + kept, { now: now(), longest: kept })) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    },
  };
}

function isSame(known: ReadonlyMap<string, SiteRow>, found: readonly SiteRow[]): boolean {
  return (
    known.size === found.length &&
    found.every(({ key, value, type, options }) => {
      const before = known.get(key);
      return before?.value === value && before.type === type && before.options === options;
    })
  );
}

/**
 * Keys of the upstream, as a set that stays the same object until they change.
 *
 * @param list the keys of its last list.
 */
export function createKnownKeys(list: () => readonly string[]): () => ReadonlySet<string> {
  let read: readonly string[] = [];
  let keys: ReadonlySet<string> = new Set();
  return () => {
    const now = list();
    if (now === read) return keys;
    read = now;
    if (now.length !== keys.size || !now.every((key) => keys.has(key))) keys = new Set(now);
    return keys;
  };
}
