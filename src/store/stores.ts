import type { Kysely } from "kysely";
import type { AccessStore } from "../access/store.ts";
import { type AppendAudit, type AuditQueryDeps, createAuditStore } from "../audit/query.ts";
import type { AuditStore } from "../audit/store.ts";
import { tryAcquireJobSlot } from "../database/job-slot.ts";
import type { LockRows } from "../database/row-lock.ts";
import type { Database } from "../database/schema.ts";
import { createIncidentStore } from "../incidents/query.ts";
import type { IncidentStore } from "../incidents/store.ts";
import {
  type KeysOf,
  type RevisionsOf,
  readChangesBetween,
  readCommits,
  readFirstChanges,
  readKnownKeys,
  readLastChangesBy,
  readMark,
  readOldestRevision,
  readRevisions,
} from "../ledger/history-query.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { createSiteStore } from "../sites/query.ts";
import type { SiteStore } from "../sites/store.ts";
import { createRecordStateStore } from "../sync/record-state-query.ts";
import type { RecordStateStore } from "../sync/record-state-store.ts";

/** The stores of all nouns on one connection. */
export interface Store extends LedgerStore {
  readonly sites: SiteStore;
  readonly mountStates: RecordStateStore;
  readonly ruleStates: RecordStateStore;
  readonly incidents: IncidentStore;
  readonly access: AccessStore;
  readonly audit: AuditStore;
}

/** Parts that differ between dialects. */
export interface DialectParts {
  readonly db: Kysely<Database>;
  /** Runs a query, waiting for locks. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Like `attempt`, for queries that may be repeated. Default: attempt. */
  readonly read?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. Default: no check. */
  readonly check?: () => void;
  readonly append: AppendAudit;
  /** Id of the database, for the audit. */
  readonly origin: string;
  /** Locks the head of the audit within a transaction. Default: not needed with a single writer. */
  readonly lock?: AuditQueryDeps["lock"];
  /** Default: not needed with a single writer. */
  readonly lockRows?: LockRows;
  readonly revisionsOf: RevisionsOf;
  readonly keysOf: KeysOf;
  /** Number of revisions whose changes one query reads. Default: all. */
  readonly changesStep?: number;
  /** Converts this machine's time to the common time of all processes. Default: the same. */
  readonly serverTime?: (now: number) => number;
}

/** Creates the stores that both dialects share: nouns, reads of the history, job slots and leases. */
export function createStores(parts: DialectParts) {
  const { db, attempt, read = attempt, check, append, origin, lock, revisionsOf, keysOf } = parts;
  const { serverTime = (now) => now, lockRows = (query) => query } = parts;
  const deps = { db, attempt, append, lockRows, ...(check && { check }) };
  const sites = createSiteStore(deps);
  /** Leaves out revisions that may have been deleted after they were read and before their changes. */
  const kept = async <T extends { readonly revision: number }>(found: readonly T[]) => {
    const oldest = await readOldestRevision(db);
    return found.filter(({ revision }) => revision >= oldest);
  };
  return {
    audit: createAuditStore({ ...deps, origin, ...(lock && { lock }) }),
    sites: {
      ...sites,
      lease: (name, holder, at, ttl) => sites.lease(name, holder, serverTime(at), ttl),
    },
    mountStates: createRecordStateStore(deps, "mount"),
    ruleStates: createRecordStateStore(deps, "rule"),
    incidents: createIncidentStore(deps),
    tryAcquireJobSlot: (job, interval, now) =>
      attempt(async () => {
        check?.();
        return tryAcquireJobSlot(db, job, interval, serverTime(now));
      }),
    markOf: (revision) => read(() => readMark(db, revision)),
    oldestRevision: () => read(() => readOldestRevision(db)),
    listRevisions: (filter) => read(async () => kept(await readRevisions(db, filter, revisionsOf))),
    commits: (after, upTo, limit) =>
      read(async () => kept(await readCommits(db, after, upTo, limit))),
    changesBetween: (after, upTo, kind) =>
      read(() => readChangesBetween(db, { after, upTo, kind }, parts.changesStep)),
    knownKeys: (kind, keys) => read(() => readKnownKeys(db, kind, keys, keysOf)),
    firstChanges: (kind, asked, upTo) => read(() => readFirstChanges(db, kind, asked, upTo)),
    lastChangesBy: (kind, actor, asked, upTo) =>
      read(() => readLastChangesBy(db, kind, actor, asked, upTo, parts.changesStep)),
  } satisfies Partial<Store>;
}
