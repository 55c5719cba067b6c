import { type Grant, outsideLimits } from "../access/grant.ts";
import type { Effect } from "../history/effect.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { notFound, type ServiceError } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { Caller, ChangeOptions, Saved } from "./caller.ts";
import { type Decide, type RecordChange, withEffects } from "./effect.ts";
import { createRecordEtag, type RecordEtag } from "./etag.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";

export interface RecordChangesDeps<R extends SiteRecord> {
  readonly ledger: Pick<Ledger, "change">;
  readonly all: () => ReadonlyMap<string, R>;
  readonly sites: Pick<SiteRegistry, "names" | "load">;
  readonly fingerprint: Fingerprint;
  /** File that declares a record; undefined: clients change it. */
  readonly declaredBy: (key: string) => string | undefined;
  /** Effects of changes on the servers that are written to now. */
  readonly effects: () => (change: RecordChange<R>) => readonly Effect[];
}

/** Common parts of all changes of one kind: rights of the caller, names of sites, effects. */
export interface RecordChanges<R extends SiteRecord> {
  readonly etagOf: RecordEtag<R>;
  /** File that declares a record; undefined: clients change it. */
  readonly declaredBy: (key: string) => string | undefined;
  /** @throws FAILED_PRECONDITION for a record that a file declares. */
  refuseManaged(key: string): void;
  /** All records that a caller may read. */
  readable(grant: Grant): readonly R[];
  /** A record that a caller may change. @throws NOT_FOUND; PERMISSION_DENIED. */
  require(grant: Grant, record: R | undefined, key: string): R;
  /** NOT_FOUND, with the nearest key. */
  readonly unknown: (key: string) => ServiceError;
  /** Names of all sites, with those that another process has created. */
  siteNames(): Promise<SiteNames>;
  /** @throws NOT_FOUND. */
  siteNamed(name: string): Promise<Site>;
  /** Commits a decision, or only makes it. Its results get their effects on running servers. */
  commit(caller: Caller, options: ChangeOptions, decide: Decide<R, RecordResult>): Promise<Saved>;
}

export function createRecordChanges<R extends SiteRecord>(
  kind: SiteKind<R>,
  deps: RecordChangesDeps<R>,
): RecordChanges<R> {
  const { ledger, all, sites, declaredBy } = deps;
  const unknown = (key: string): ServiceError =>
    notFound(kind.texts.unknown(key, didYouMean(key, all().keys())));
  const siteNames = () => readSiteNames(sites);
  return {
    etagOf: createRecordEtag(deps.fingerprint, kind.keyOf),
    declaredBy,
    unknown,
    siteNames,
    refuseManaged: (key) => checkManaged(key, declaredBy(key)),
    readable: (grant) => [...all().values()].filter((record) => kind.isAllowed(grant, record)),
    require: (grant, record, key) => {
      if (record !== undefined && kind.isAllowed(grant, record)) return record;
      throw grant.limits.length > 0 ? outsideLimits(grant) : unknown(key);
    },
    siteNamed: async (name) => (await siteNames()).named(name),
    commit: async ({ origin }, { dryRun = false }, decide) => {
      const change = withEffects(kind, deps.effects(), decide);
      const { result, revision } = await ledger.change(origin, change, { dryRun });
      return { revision, results: result };
    },
  };
}
