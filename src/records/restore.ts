import { type Grant, outsideLimits } from "../access/grant.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { StoredChange } from "../ledger/store.ts";
import { failedPrecondition } from "../messages/error.ts";
import { joinTexts, message, type Text } from "../messages/message.ts";
import { findClash } from "../sites/path-index.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks, mapInTicks } from "../ticks.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { missingFields, shownFields } from "./shown-secret.ts";
import { otherRecord } from "./text.ts";

export interface RestoreRules<R> {
  readonly grant: Grant;
  /** Source that manages a record, such as a file; undefined: clients may change it. */
  readonly managedBy: (key: string) => string | undefined;
  readonly sites: Pick<SiteNames, "nameOf" | "ids">;
  /**
   * The record as it was, with its current secrets: the history has none. Those without a current
   * value are missing.
   *
   * @param body open part of the record as it was. @param now undefined: it was deleted.
   */
  readonly restored: (change: StoredChange, body: string, now: R | undefined) => R;
  /** Fields of secrets that would reach a destination that the caller may not choose for them. */
  readonly redirected: (now: R, restored: R) => readonly string[];
  /** Note about a restored record. @param now undefined: it was deleted. */
  readonly warning?: (now: R | undefined, restored: R) => Text;
  /** Names of the members that differ. */
  readonly changedNames: (now: R, restored: R) => readonly string[];
}

/**
 * Restores records of a draft to their state before the given changes. The history has no secrets: a
 * record keeps its current ones, and one that was deleted is incomplete without them.
 *
 * @throws FAILED_PRECONDITION if another record has the path of a restored one on a site.
 */
export async function restoreRecords<R extends SiteRecord>(
  kind: SiteKind<R>,
  draft: Draft,
  changes: readonly StoredChange[],
  rules: RestoreRules<R>,
): Promise<readonly RecordResult[]> {
  const results = await mapInTicks(changes, (change) => restoreRecord(kind, draft, change, rules));
  await checkPaths(kind, draft, results, rules);
  return results;
}

function restoreRecord<R extends SiteRecord>(
  kind: SiteKind<R>,
  draft: Draft,
  change: StoredChange,
  { grant, managedBy, sites, ...rules }: RestoreRules<R>,
): RecordResult {
  const { token, texts } = kind;
  const { key, oldBody, newBody } = change;
  // Those that the history shows: others would confirm the guess of a caller who may not read them.
  const secrets = shownFields(kind, change, sites);
  const now = draft.get(token, key);
  // Another caller has moved it after the history was read.
  if (now !== undefined && !kind.isAllowed(grant, now)) throw outsideLimits(grant);
  const file = managedBy(key);
  if (file !== undefined) return resultAs(key, "skipped", message("MANAGED_BY_FILE", { file }));
  if (oldBody === newBody) return resultAs(key, "skipped", secretsStay(secrets));
  if (oldBody === null) {
    if (now === undefined) return resultAs(key, "unchanged");
    draft.delete(token, key);
    return resultAs(key, "deleted");
  }
  const record = rules.restored(change, oldBody, now);
  const redirected = now === undefined ? [] : rules.redirected(now, record);
  if (redirected.length > 0)
    return resultAs(key, "skipped", texts.restoreRedirects(redirected.join(", ")));
  const isChanged = draft.put(token, record);
  const lost = missingFields(kind, record, sites);
  const ofSecrets = lost.length > 0 ? texts.secretsLost(lost.join(", ")) : secretsStay(secrets);
  const note = joinTexts([ofSecrets, rules.warning?.(now, record) ?? ""]);
  const leftOut = [...new Set([...lost, ...secrets])];
  if (now === undefined) return resultAs(key, "created", note, { leftOut });
  const differs = rules.changedNames(now, record);
  if (isChanged) return resultAs(key, "changed", note, { leftOut, differs });
  return leftOut.length > 0 ? resultAs(key, "skipped", note) : resultAs(key, "unchanged");
}

/** Note for secrets that have changed and keep their values. */
function secretsStay(fields: readonly string[]): Text {
  if (fields.length === 0) return "";
  return message("SECRETS_STAY", { items: [...new Set(fields)].join(", ") });
}

/** @throws FAILED_PRECONDITION that names both, if a restored record has the path of another one. */
async function checkPaths<R extends SiteRecord>(
  kind: SiteKind<R>,
  draft: Draft,
  results: readonly RecordResult[],
  { grant, sites }: Pick<RestoreRules<R>, "grant" | "sites">,
): Promise<void> {
  const records = kind.ofDraft(draft);
  const ticks = createTicks();
  for (const { name, outcome } of results) {
    if (outcome === "skipped") continue;
    if (ticks.isDue()) await ticks.next();
    const record = records.get(name);
    const clash = record && findClash(name, record, records, sites.ids);
    if (clash === undefined) continue;
    const { other } = clash;
    const whose = otherRecord(kind.texts, kind.keyOf(other), kind.isAllowed(grant, other));
    throw failedPrecondition(message("ROLLBACK_PATH_TAKEN", { name, whose }));
  }
}
