import { Code } from "@connectrpc/connect";
import { mapReadError } from "../database/error.ts";
import { fitsGlob } from "../database/glob.ts";
import { oneAtATime } from "../database/replica.ts";
import { invalid, ServiceError, unavailable } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { type Periodic, startPeriodic } from "../periodic.ts";
import { createWaiter } from "../waiter.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { AuditFilter, AuditPosition, AuditRow, AuditStore } from "./store.ts";

/**
 * Maximum number of rows that one page or one batch scans: a filter without matches must not block
 * other calls.
 */
const SCAN = 10_000;
/** Maximum number of characters of a pattern. */
const MAX_PATTERN = 255;

/** Selection of rows. */
export interface AuditSelection extends Omit<AuditFilter, "subjectPart"> {
  /** Pattern that one of the subjects matches; `*` is any text. Undefined: all rows. */
  readonly subject?: string | undefined;
}

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
  const tail = createTail({ ...deps, store });
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
        ? { after: Math.max(floor.seq, begin - 1 - SCAN), before: begin }
        : { after: begin, before: Math.min(head, begin + SCAN) + 1 };
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
    watch: tail.read,
    checkpoint: async () => {
      const [head, floor] = await Promise.all([store.head(), store.floor()]);
      const oldest = head.seq > floor.seq ? floor.seq + 1 : 0;
      return { ...head, origin: store.origin, time: deps.now(), oldest };
    },
    endStreams: tail.close,
  };
  return service;
}

/** Splits a selection into the store's filter and the rest, which is applied here. */
function selectionOf({ subject, ...filter }: AuditSelection): Selected {
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

/** Wraps the store: read failures become UNAVAILABLE. */
function withReadErrors(store: AuditStore): AuditStore {
  return {
    ...store,
    head: () => mapReadError(store.head(), "audit"),
    floor: () => mapReadError(store.floor(), "audit"),
    rows: (range) => mapReadError(store.rows(range), "audit"),
  };
}

/** Row that a client has read. */
export interface ReadRow {
  readonly seq: number;
  /** First digits of its hash. Absent: not known. */
  readonly hash?: string;
}

/** Number of digits of a hash in an etag. */
const ETAG_DIGITS = 16;

/** Identifies a row also after the database was restored from a copy: `42.0123456789abcdef`. */
export function etagOfRow({ seq, hash }: AuditPosition): string {
  return `${seq}.${hash.slice(0, ETAG_DIGITS)}`;
}

/** Reads an etag of a row; undefined: it is not one. */
export function readRowEtag(text: string): ReadRow | undefined {
  const [, digits, hash] = /^(0|[1-9]\d{0,14})\.([0-9a-f]{16})$/.exec(text) ?? [];
  return digits === undefined || hash === undefined ? undefined : { seq: Number(digits), hash };
}

/** Maximum number of rows of one batch of new rows. */
const BATCH = 200;

/** Batch for a reader, with the row up to which the reader is complete. */
export interface Progress extends AuditPosition {
  /** Matching rows up to it. */
  readonly rows: readonly AuditRow[];
}

/** Filter, and the part that the store does not apply. */
interface Selected extends AuditFilter {
  readonly fits: (row: AuditRow) => boolean;
}

/** Streams of new audit rows, whichever process writes them. */
interface Tail {
  read(
    selection: AuditSelection,
    after: ReadRow | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  close(): void;
}

/** Maximum number of new rows that are kept in memory for the streams. */
const KEPT = 1_000;
/** Maximum number of batches that streams share until the next row. */
const MAX_SHARED = 256;

/**
 * New rows are read once for all streams, which filter them in memory; older ones are read by each.
 * Streams with one selection share the batches.
 *
 * @param deps.interval interval of polling for the newest row while there are readers, in milliseconds.
 * @param deps.idle interval of bookmarks, in milliseconds.
 */
function createTail(deps: {
  readonly store: Pick<AuditStore, "head" | "floor" | "rows">;
  readonly interval: number;
  readonly idle: number;
}): Tail {
  const { store, interval, idle } = deps;
  const stopping = new AbortController();
  const waiter = createWaiter();
  let readers = 0;
  let head = 0;
  let headHash = "";
  /** The newest rows without gaps, up to the head. */
  let newest: readonly AuditRow[] = [];
  const shared = new Map<string, Promise<Progress>>();
  let job: Periodic | undefined;
  // Reads do not overlap: a slow one would set back the newest row.
  const { run: readNewest } = oneAtATime(async () => {
    const { seq, hash } = await store.head();
    headHash = hash;
    if (seq === head) return;
    const isNear = seq > head && seq - head <= KEPT;
    const rows = isNear
      ? await store.rows({ after: head, before: seq + 1, limit: KEPT, newestFirst: false })
      : [];
    newest = rows.length === seq - head ? [...newest, ...rows].slice(-KEPT) : [];
    head = seq;
    shared.clear();
    waiter.notify();
  });
  const begin = (): Promise<void> => {
    readers += 1;
    // An unavailable store is polled again the next time.
    job ??= startPeriodic(readNewest, { interval, onError: () => undefined });
    return readNewest();
  };
  const stop = (): void => {
    void job?.stop();
    job = undefined;
  };
  const end = (): void => {
    readers -= 1;
    if (readers > 0) return;
    stop();
    newest = [];
    shared.clear();
  };

  /** The next batch after a row; the same object for all streams of a selection. */
  const batchAfter = (at: number, key: string, selected: Selected): Promise<Progress> => {
    const name = `${at} ${key}`;
    const known = shared.get(name);
    if (known !== undefined) return known;
    const made = newest.length >= head - at ? fromMemory(at, selected) : fromStore(at, selected);
    if (shared.size < MAX_SHARED) shared.set(name, made);
    // A failed read is repeated by the next stream.
    made.catch(() => shared.delete(name));
    return made;
  };
  const fromMemory = async (at: number, selected: Selected): Promise<Progress> => {
    const rows = newest
      .slice(newest.length - (head - at))
      .filter((row) => isSelected(row, selected));
    const page = rows.slice(0, BATCH);
    const last = page.length < rows.length ? page.at(-1) : undefined;
    return { seq: last?.seq ?? head, hash: last?.hash ?? headHash, rows: page };
  };
  const fromStore = async (at: number, { fits, ...filter }: Selected): Promise<Progress> => {
    const before = Math.min(head, at + SCAN) + 1;
    const range = { after: at, before, limit: BATCH, newestFirst: false };
    const rows = await store.rows({ ...filter, ...range });
    await checkKept(at);
    const seq = rows.length === BATCH ? (rows.at(-1)?.seq ?? at) : before - 1;
    return { seq, hash: await hashOf(seq), rows: rows.filter(fits) };
  };
  const hashOf = async (seq: number): Promise<string> => {
    const floor = await store.floor();
    if (seq === floor.seq) return floor.hash;
    const range = { after: seq - 1, before: seq + 1, limit: 1, newestFirst: false };
    const [row] = await store.rows(range);
    if (row === undefined) throw forgotten(seq, floor.seq + 1);
    return row.hash;
  };

  async function* read(
    selection: AuditSelection,
    start: ReadRow | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    const selected = selectionOf(selection);
    const key = JSON.stringify(selection);
    const waiting = waiter.join([signal, stopping.signal]);
    try {
      await begin();
      let at = start?.seq ?? head;
      if (at > head) throw outOfRange(message("AUDIT_ROW_NOT_YET", { row: at, newest: head }));
      await checkKept(at);
      if (start?.hash !== undefined && !(await hashOf(at)).startsWith(start.hash))
        throw outOfRange(message("AUDIT_ROW_OTHER", { row: at }));
      let isIdle = true;
      let told = false;
      while (!signal.aborted) {
        if (stopping.signal.aborted) throw unavailable(message("STREAM_STOPPING"));
        if (at > head) throw unavailable(message("AUDIT_DATABASE_OLDER"));
        const isNew = at < head;
        const batch = await batchAfter(at, key, selected);
        at = batch.seq;
        if (batch.rows.length > 0 || (at === head && (isNew || isIdle)) || !told) yield batch;
        told = true;
        if (at === head) isIdle = !(await waiting.next(idle));
      }
    } finally {
      waiting.close();
      end();
    }
  }

  /** Rows may have been deleted before they were read. */
  async function checkKept(after: number): Promise<void> {
    const floor = await store.floor();
    if (after < floor.seq) throw forgotten(after, floor.seq + 1);
  }

  return {
    read,
    close: () => {
      stopping.abort();
      // A reader that is processing a batch ends at its next read, if there is one.
      stop();
    },
  };
}

/** Applies a selection in memory, as the store does. */
function isSelected(row: AuditRow, selected: Selected): boolean {
  const { actor, tokenId, methods, outcomes, fits } = selected;
  return (
    (actor === undefined || row.actor === actor || row.actor.startsWith(`${actor}/`)) &&
    (tokenId === undefined || row.tokenId === tokenId) &&
    (methods === undefined || methods.includes(row.method)) &&
    (outcomes === undefined || outcomes.includes(row.outcome)) &&
    fits(row)
  );
}

/** OUT_OF_RANGE: the row after `after` is no longer kept. */
function forgotten(after: number, oldest: number): ServiceError {
  return outOfRange(message("AUDIT_ROWS_FORGOTTEN", { row: after, oldest }));
}

function outOfRange(text: Text): ServiceError {
  return new ServiceError(Code.OutOfRange, text);
}
