import { fitsGlob } from "../database/glob.ts";
import { mapReadError } from "../database/store-failure.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { AuditFilter, AuditRow, AuditStore } from "./store.ts";
import { createTail, forgotten, type Progress } from "./tail.ts";

/**
 * Maximum number of rows that one page scans: a filter without matches must not block other calls.
 */
const SCAN = 10_000;
/** Characters of a pattern at most. */
const MAX_PATTERN = 255;

/** Selection of rows. */
export interface AuditSelection extends Omit<AuditFilter, "subjectPart"> {
  /** A pattern that a name of what it was about fits, where `*` is any text; undefined: any. */
  readonly subject?: string | undefined;
}

/** A request for a page of rows. */
export interface AuditQuery extends AuditSelection {
  /** 0: 50. More than 1,000 is 1,000 (AIP-158). */
  readonly pageSize: number;
  /** Only rows after this one, the oldest first. 0: from the oldest that is kept. Undefined: newest first. */
  readonly after: number | undefined;
  /** The `next` of the page before. */
  readonly from: number | undefined;
}

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** The `from` of the next page; undefined: this was the last one. */
  readonly next: number | undefined;
  /** The oldest row that is kept; 0: none. */
  readonly oldest: number;
  /** The hash of the row before it. */
  readonly floorHash: string;
}

/** Reads who did what. */
export interface AuditService {
  /** @throws INVALID_ARGUMENT for a negative page size or a pattern that is too long; OUT_OF_RANGE. */
  list(query: AuditQuery): Promise<AuditPage>;
  /**
   * Rows as they are written, without end.
   *
   * @param after undefined: those that come from now on.
   * @throws OUT_OF_RANGE when what came after is not kept any more, or is yet to come; UNAVAILABLE
   *   when the service stops.
   */
  watch(
    selection: AuditSelection,
    after: number | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  /** Newest position of the audit, with the oldest row. */
  checkpoint(): Promise<Checkpoint & { readonly oldest: number }>;
  /** Ends all watching. */
  endStreams(): void;
}

export interface AuditServiceDeps {
  readonly store: AuditStore;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Interval in which watchers poll for new rows and send bookmarks, in milliseconds. */
  readonly interval: number;
  readonly idle: number;
}

export function createAuditService(deps: AuditServiceDeps): AuditService {
  const store = explained(deps.store);
  const tail = createTail({ ...deps, store });
  return {
    list: async ({ pageSize, after, from, subject, ...filter }) => {
      const limit = pageLimit(pageSize);
      const [{ seq: head }, floor] = await Promise.all([store.head(), store.floor()]);
      const { fits, ...selected } = selectionOf({ subject, ...filter });
      const newestFirst = after === undefined;
      const begin = from ?? (newestFirst ? head + 1 : Math.min(after, head) || floor.seq);
      if (!newestFirst && begin < floor.seq) throw forgotten(begin, floor.seq + 1);
      // The window that this page scans: rows after one and before another.
      const window = newestFirst
        ? { after: Math.max(floor.seq, begin - 1 - SCAN), before: begin }
        : { after: begin, before: Math.min(head, begin + SCAN) + 1 };
      const found = await store.rows({ ...selected, ...window, limit, newestFirst });
      const last = found.length === limit ? found.at(-1)?.seq : undefined;
      const next = newestFirst ? (last ?? window.after + 1) : (last ?? window.before - 1);
      const isLast = newestFirst ? next <= floor.seq + 1 : next >= head;
      return {
        rows: found.filter(fits),
        next: isLast ? undefined : next,
        oldest: head > floor.seq ? floor.seq + 1 : 0,
        floorHash: floor.hash,
      };
    },
    watch: (selection, after, signal) => tail.read(selectionOf(selection), after, signal),
    checkpoint: async () => {
      const [head, floor] = await Promise.all([store.head(), store.floor()]);
      const oldest = head.seq > floor.seq ? floor.seq + 1 : 0;
      return { ...head, origin: store.origin, time: deps.now(), oldest };
    },
    endStreams: tail.close,
  };
}

/** Splits a selection into the store's filter and the rest, which is applied here. */
function selectionOf({ subject, ...filter }: AuditSelection) {
  if (subject === undefined || subject === "") return { ...filter, fits: () => true };
  if (subject.length > MAX_PATTERN)
    throw invalid([
      {
        field: "subject",
        description: message("SUBJECT_PATTERN_TOO_LONG", { most: MAX_PATTERN }),
      },
    ]);
  const parts = subject.split("*");
  const subjectPart = parts.reduce((longest, part) =>
    part.length > longest.length ? part : longest,
  );
  const fits = ({ subjects }: AuditRow): boolean => subjects.some((name) => fitsGlob(parts, name));
  return { ...filter, subjectPart, fits };
}

/** Wraps the store: failures become service errors, as for the history. */
function explained(store: AuditStore): AuditStore {
  return {
    ...store,
    head: () => mapReadError(store.head(), "audit"),
    floor: () => mapReadError(store.floor(), "audit"),
    rows: (range) => mapReadError(store.rows(range), "audit"),
  };
}
