import { mapReadError } from "../database/error.ts";
import { pageLimit } from "../messages/page.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { forgotten } from "./failure.ts";
import type { ReadRow } from "./row-etag.ts";
import { type AuditSelection, selectionOf } from "./selection.ts";
import { type AuditRow, type AuditStore, MAX_SCANNED } from "./store.ts";
import { AuditTail, type Progress } from "./tail.ts";

/** A request for a page of rows. */
export interface AuditQuery extends AuditSelection {
  /** 0: 50. Values above 1,000 mean 1,000 (AIP-158). */
  readonly pageSize: number;
  /** Only rows after this one, oldest first; 0: from the oldest kept row. Undefined: newest first. */
  readonly after: number | undefined;
  /** `next` of the previous page. */
  readonly from: number | undefined;
}

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** `from` of the next page; undefined: this is the last page. */
  readonly next: number | undefined;
  /** Oldest kept row; 0: none. */
  readonly oldest: number;
  /** Hash of the row before the oldest. */
  readonly floorHash: string;
}

/** Reads the audit. */
export interface AuditService {
  /** @throws INVALID_ARGUMENT for a negative page size or a pattern that is too long; OUT_OF_RANGE. */
  list(query: AuditQuery): Promise<AuditPage>;
  /**
   * Stream of rows as they are written.
   *
   * @param after row after which the stream begins; undefined: new rows only.
   * @throws OUT_OF_RANGE when the next row is no longer kept, `after` does not exist yet or has
   *   another hash; UNAVAILABLE when the service stops.
   */
  watch(
    selection: AuditSelection,
    after: ReadRow | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  /** Newest position of the audit, with the oldest row. */
  checkpoint(): Promise<Checkpoint & { readonly oldest: number }>;
  /** Ends all streams. */
  endStreams(): void;
}

export interface AuditServiceDeps {
  readonly store: AuditStore;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Interval of polling for new rows, in milliseconds. */
  readonly interval: number;
  /** Interval of bookmarks, in milliseconds. */
  readonly idle: number;
}

export function createAuditService(deps: AuditServiceDeps): AuditService {
  const store = withReadErrors(deps.store);
  const tail = new AuditTail({ ...deps, store });
  const service: AuditService = {
    list: async (query) => {
      const { pageSize, after, from, subject, ...filter } = query;
      const limit = pageLimit(pageSize);
      const [{ seq: head }, floor] = await Promise.all([store.head(), store.floor()]);
      const { fits, ...selected } = selectionOf({ subject, ...filter });
      const newestFirst = after === undefined;
      const begin = from ?? (newestFirst ? head + 1 : Math.min(after, head) || floor.seq);
      if (!newestFirst && begin < floor.seq) throw forgotten(begin, floor.seq + 1);
      // The window that this page scans: rows after one and before another.
      const window = newestFirst
        ? { after: Math.max(floor.seq, begin - 1 - MAX_SCANNED), before: begin }
        : { after: begin, before: Math.min(head, begin + MAX_SCANNED) + 1 };
      const found = await store.rows({ ...selected, ...window, limit, newestFirst });
      // Rows were deleted during the read: the page would begin with a gap.
      if (!newestFirst && begin < (await store.floor()).seq) return service.list(query);
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
    watch: (selection, after, signal) => tail.read(selection, after, signal),
    checkpoint: async () => {
      const [head, floor] = await Promise.all([store.head(), store.floor()]);
      const oldest = head.seq > floor.seq ? floor.seq + 1 : 0;
      return { ...head, origin: store.origin, time: deps.now(), oldest };
    },
    endStreams: () => tail.close(),
  };
  return service;
}

/** Wraps the store: read failures become UNAVAILABLE. */
function withReadErrors(store: AuditStore): AuditStore {
  return {
    ...store,
    head: () => mapReadError(store.head(), "audit"),
    floor: () => mapReadError(store.floor(), "audit"),
    rows: (range) => mapReadError(store.rows(range), "audit"),
  };
}
