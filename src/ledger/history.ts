import { Code } from "@connectrpc/connect";
import { mapReadError } from "../database/error.ts";
import { notFound, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { isVoid } from "./commit.ts";
import type { Ledger } from "./ledger.ts";
import type {
  LedgerStore,
  RevisionCommit,
  RevisionFilter,
  RevisionSummary,
  StoredChange,
} from "./store.ts";

/** Bytes after which a page ends early. */
const PAGE_BYTES = 2 * 2 ** 20;
/** Revisions of the first query of a page, before their size is known. */
const FIRST_READ = 8;

/** A request for a page of the history. */
interface HistoryQuery extends Omit<RevisionFilter, "limit"> {
  /** 0: 50. Values above 1,000 mean 1,000 (AIP-158). A page of large revisions has fewer. */
  readonly pageSize: number;
}

interface HistoryPage {
  readonly revisions: readonly RevisionSummary[];
  /** `before` of the next page; undefined: this is the last page. */
  readonly next: number | undefined;
  /** The oldest revision that is kept; 0: none. */
  readonly oldest: number;
}

/** History of changes: what, when and by which actor. It contains no secret values. */
export interface History {
  /** @throws INVALID_ARGUMENT for a negative page size. */
  list(query: HistoryQuery): Promise<HistoryPage>;
  /** @throws NOT_FOUND for a revision that never existed; OUT_OF_RANGE for one that is no longer kept. */
  get(revision: number): Promise<RevisionCommit>;
  /**
   * Difference between two revisions, as one change; `from` may be the later one.
   *
   * @param to 0: the newest.
   * @param hides reports whether the values of a change are hidden from the caller; such a change
   *   is included even if both values are equal. Default: none.
   * @param kind only records of this kind. Default: all.
   * @throws as get.
   */
  diff(
    from: number,
    to: number,
    hides?: (change: StoredChange) => boolean,
    kind?: string,
  ): Promise<readonly StoredChange[]>;
}

export function createHistory(deps: {
  readonly store: HistoryStore;
  readonly ledger: Ledger;
}): History {
  const { ledger } = deps;
  const store = explained(deps.store);
  const newest = (): number => ledger.snapshot().revision;
  /** Requires that all changes after a revision are kept. */
  const checkState = async (revision: number): Promise<void> => {
    if (revision < 0 || revision > newest())
      throw notFound(message("REVISION_NOT_FOUND", { revision, newest: newest() }));
    const oldest = await store.oldestRevision();
    if (revision + 1 < oldest) throw forgotten(revision, oldest);
  };
  const between: History["diff"] = async (from, to, hides = () => false, kind?: string) => {
    await checkState(Math.min(from, to));
    await checkState(Math.max(from, to));
    const forward = await store.changesBetween(Math.min(from, to), Math.max(from, to), kind);
    // The oldest revisions may have been deleted during the read.
    await checkState(Math.min(from, to));
    return (from <= to ? forward : forward.map(reverse)).filter(
      (change) => !isVoid(change) || hides(change),
    );
  };
  return {
    list: async ({ pageSize, ...filter }) => {
      const limit = pageLimit(pageSize);
      const { revisions, hasMore } = await readPage(store, filter, limit);
      const next = hasMore ? revisions.at(-1)?.revision : undefined;
      return { revisions, next, oldest: await store.oldestRevision() };
    },
    get: async (revision) => {
      const [commit] = await store.commits(revision - 1, revision, 1);
      if (commit !== undefined) return commit;
      const oldest = await store.oldestRevision();
      if (revision > 0 && revision < oldest) throw forgotten(revision, oldest);
      throw notFound(message("REVISION_NOT_FOUND", { revision, newest: newest() }));
    },
    diff: (from, to, hides, kind) => between(from, to === 0 ? newest() : to, hides, kind),
  };
}

/**
 * Reads revisions until the page is full by count or bytes. The size of each query follows from the
 * rows read before.
 */
async function readPage(
  store: Pick<HistoryStore, "listRevisions">,
  filter: Omit<RevisionFilter, "limit">,
  limit: number,
): Promise<{ readonly revisions: readonly RevisionSummary[]; readonly hasMore: boolean }> {
  const revisions: RevisionSummary[] = [];
  let bytes = 0;
  for (let count = FIRST_READ; ; ) {
    const wanted = Math.min(count, limit - revisions.length);
    const before = revisions.at(-1)?.revision ?? filter.before;
    const found = await store.listRevisions({ ...filter, before, limit: wanted + 1 });
    const read = found.slice(0, wanted);
    revisions.push(...read);
    bytes += read.reduce((sum, summary) => sum + sizeOf(summary), 0);
    if (found.length <= wanted) return { revisions, hasMore: false };
    if (revisions.length >= limit || bytes >= PAGE_BYTES) return { revisions, hasMore: true };
    count = Math.max(1, Math.floor(((PAGE_BYTES - bytes) * revisions.length) / bytes));
  }
}

/** Approximate size of a revision in memory and in a reply. */
function sizeOf({ changes, reason }: RevisionSummary): number {
  return changes.reduce(
    (sum, { key, oldAttributes, newAttributes }) =>
      sum + 64 + key.length + (oldAttributes?.length ?? 0) + (newAttributes?.length ?? 0),
    512 + reason.length,
  );
}

function forgotten(revision: number, oldest: number): ServiceError {
  return new ServiceError(Code.OutOfRange, message("REVISION_FORGOTTEN", { revision, oldest }));
}

function reverse(change: StoredChange): StoredChange {
  return {
    kind: change.kind,
    key: change.key,
    oldBody: change.newBody,
    newBody: change.oldBody,
    oldAttributes: change.newAttributes,
    newAttributes: change.oldAttributes,
    oldHashes: change.newHashes,
    newHashes: change.oldHashes,
  };
}

/** Reads of the history. */
export type HistoryStore = Pick<
  LedgerStore,
  | "markOf"
  | "oldestRevision"
  | "listRevisions"
  | "commits"
  | "changesBetween"
  | "knownKeys"
  | "firstChanges"
  | "lastChangesBy"
>;

/** Wraps a store's history: failures become service errors. */
export function explained(store: HistoryStore): HistoryStore {
  return {
    oldestRevision: () => mapReadError(store.oldestRevision()),
    listRevisions: (filter) => mapReadError(store.listRevisions(filter)),
    commits: (...range) => mapReadError(store.commits(...range)),
    changesBetween: (...range) => mapReadError(store.changesBetween(...range)),
    knownKeys: (...keys) => mapReadError(store.knownKeys(...keys)),
    markOf: (revision) => mapReadError(store.markOf(revision)),
    firstChanges: (...range) => mapReadError(store.firstChanges(...range)),
    lastChangesBy: (...range) => mapReadError(store.lastChangesBy(...range)),
  };
}
