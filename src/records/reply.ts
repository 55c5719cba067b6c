import type { HandlerContext } from "@connectrpc/connect";
import { grantOf } from "../access/grant.ts";
import { auditOriginOf } from "../audit/entry.ts";
import { dryRunOf, type Recorder } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import type { RecordResult } from "../history/record-result.ts";
import { denied } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { type Page, type PageRequest, pageOf } from "../messages/page.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { Saved } from "./caller.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { subjectOf } from "./subject.ts";

/** Approximate size of the state of a record on a site, in bytes of JSON. */
const STATE_BYTES = 350;

/**
 * Page of a list of records: at most 1,000, and fewer if they are large.
 *
 * @param siteCount number of all sites: a record is shown with its state on each of its sites.
 */
export function recordPage<R extends SiteRecord>(
  { keyOf }: SiteKind<R>,
  sorted: readonly R[],
  request: PageRequest,
  siteCount: number,
): Page<R> {
  const sitesOf = ({ siteIds }: R): number => (siteIds === "all" ? siteCount : siteIds.length);
  const place = {
    of: keyOf,
    after: (text: string) => (record: R) => keyOf(record) > text,
    sizeOf: (record: R) =>
      Buffer.byteLength(JSON.stringify(record)) + sitesOf(record) * STATE_BYTES,
  };
  return pageOf(sorted, request, place, undefined, { usual: 1_000, beyond: "invalid" });
}

export interface ChangeReplyDeps<R, M> {
  /** Records of these keys as they are now. */
  readonly saved: (keys: ReadonlySet<string>) => readonly R[];
  readonly pendingSites: PendingSites;
  readonly sayIn: (context: HandlerContext) => (text: Text) => string;
  readonly resultToProto: (result: RecordResult, say: (text: Text) => string) => M;
}

/** Creates the common members of replies to changes of records. */
export function createChangeReply<R extends SiteRecord, M>(
  { keyOf }: SiteKind<R>,
  { saved, pendingSites, sayIn, resultToProto }: ChangeReplyDeps<R, M>,
) {
  const pendingOf = createPendingReply(pendingSites, sayIn);
  const resultsOf = (results: readonly RecordResult[], context: HandlerContext): M[] => {
    const say = sayIn(context);
    return results.map((result) => resultToProto(result, say));
  };
  /** Sites of changed records that do not get the change now. */
  const pending = (
    results: readonly RecordResult[],
    context: HandlerContext,
    before: readonly R[],
  ) => {
    const keys = new Set(
      results.flatMap(({ name, outcome }) =>
        outcome === "unchanged" || outcome === "skipped" ? [] : [name],
      ),
    );
    const changed = [...saved(keys), ...before.filter((record) => keys.has(keyOf(record)))];
    return pendingOf(context, (siteId) => changed.some((record) => isOnSite(record, siteId)));
  };
  return {
    resultsOf,
    /** @param options.before deleted records. */
    changeReply: (
      { revision, results }: Saved,
      context: HandlerContext,
      { dryRun, before = [] }: { readonly dryRun: boolean; readonly before?: readonly R[] },
    ) => ({
      revision: BigInt(revision),
      results: resultsOf(results, context),
      pendingSites: dryRun ? [] : pending(results, context, before),
    }),
  };
}

/**
 * Checks the scope of requests for secrets, and records what a caller reads or may guess in the audit.
 *
 * @param subjectsOf names of the secrets of a record.
 */
export function createRevealing<R extends SiteRecord>(
  kind: SiteKind<R>,
  subjectsOf: (record: R) => readonly string[],
  audit: Pick<Recorder, "note">,
) {
  const scope = `${kind.plural}:reveal`;
  /** Names of the secrets that a reply reveals. @throws PERMISSION_DENIED without the scope. */
  const revealedNames = (context: HandlerContext, found: readonly R[]): readonly string[] => {
    if (!grantOf(context).has(scope)) throw denied(message("SCOPE_MISSING", { scope }));
    return found.flatMap(subjectsOf);
  };
  return {
    revealedNames,
    /** Records a dry run of a caller who may not read secrets: with guessed values, it could reveal them. */
    noteDryRun: (context: HandlerContext, keys: readonly string[]): void => {
      if (grantOf(context).has(scope)) return;
      const subjects = keys.map((key) => subjectOf(kind, key));
      audit.note(dryRunOf(context, subjects));
    },
    /** @returns whether the reply reveals secrets. */
    revealing: (context: HandlerContext, reveal: boolean, found: readonly R[]): boolean => {
      if (!reveal) return false;
      const subjects = revealedNames(context, found);
      if (subjects.length > 0)
        audit.note({ origin: auditOriginOf(context), outcome: "OK", subjects });
      return true;
    },
  };
}
