import type { HandlerContext } from "@connectrpc/connect";
import { grantOf } from "../access/grant.ts";
import { auditOriginOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import type { RecordResult } from "../history/record-result.ts";
import { denied } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { type Page, type PageRequest, pageOf } from "../messages/page.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";

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

/**
 * Creates the `pending_sites` of replies: sites of changed records that do not get the change now.
 *
 * @param saved records of these keys as they are now.
 */
export function createPendingOfChange<R extends SiteRecord>(
  { keyOf }: SiteKind<R>,
  saved: (keys: ReadonlySet<string>) => readonly R[],
  pendingSites: PendingSites,
  sayIn: (context: HandlerContext) => (text: Text) => string,
) {
  const pendingOf = createPendingReply(pendingSites, sayIn);
  /** @param before deleted records. */
  return (results: readonly RecordResult[], context: HandlerContext, before: readonly R[] = []) => {
    const keys = new Set(
      results.flatMap(({ name, outcome }) =>
        outcome === "unchanged" || outcome === "skipped" ? [] : [name],
      ),
    );
    const changed = [...saved(keys), ...before.filter((record) => keys.has(keyOf(record)))];
    return pendingOf(context, (siteId) => changed.some((record) => isOnSite(record, siteId)));
  };
}

/**
 * Checks the scope of requests for secrets, and counts the read secrets for the audit.
 *
 * @param subjectsOf names of the secrets of a record.
 */
export function createRevealing<R>(
  scope: string,
  subjectsOf: (record: R) => readonly string[],
  audit: Pick<Recorder, "note">,
) {
  /** Names of the secrets that a reply reveals. @throws PERMISSION_DENIED without the scope. */
  const revealedNames = (context: HandlerContext, found: readonly R[]): readonly string[] => {
    if (!grantOf(context).has(scope)) throw denied(message("SCOPE_MISSING", { scope }));
    return found.flatMap(subjectsOf);
  };
  return {
    revealedNames,
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
