import { type Grant, outsideLimits } from "../access/grant.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { StoredChange } from "../ledger/store.ts";
import { message, type Text } from "../messages/message.ts";
import { checkRestoredPaths } from "../sites/restored-path.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { mapInTicks } from "../ticks.ts";
import { draftRules, RULES } from "./kind.ts";
import { isAllowed, passwordFields, type Rule, type RuleOverride } from "./rule.ts";
import { changedMembers, redirectedPasswords } from "./save.ts";
import { readBody, shownPasswords, siteOfPart } from "./stored.ts";

export interface RestoreRules {
  readonly grant: Grant;
  /** Source that manages a rule, such as a file; undefined: clients may change it. */
  readonly managedBy: (path: string) => string | undefined;
  readonly sites: Pick<SiteNames, "nameOf" | "ids">;
}

/**
 * Restores rules of a draft to their state before the given changes. The history has no passwords:
 * a rule keeps its current ones, and a rule that was deleted is incomplete without them.
 *
 * @throws FAILED_PRECONDITION if another rule has the path of a restored one on a site.
 */
export async function restoreRules(
  draft: Draft,
  changes: readonly StoredChange[],
  rules: RestoreRules,
): Promise<readonly RecordResult[]> {
  const { grant, sites } = rules;
  const results = await mapInTicks(changes, (change) => restoreRule(draft, change, rules));
  await checkRestoredPaths(results, draftRules(draft), sites.ids, (other) =>
    isAllowed(grant, other) ? message("THE_RULE", { path: other.path }) : message("ANOTHER_RULE"),
  );
  return results;
}

function restoreRule(
  draft: Draft,
  change: StoredChange,
  { grant, managedBy, sites }: RestoreRules,
): RecordResult {
  const { key: path, oldBody, newBody } = change;
  // Those that the history shows: others would confirm the guess of a caller who may not read them.
  const changed = passwordFields(shownPasswords(change), sites);
  const now = draft.get(RULES, path);
  // Another caller has moved it after the history was read.
  if (now !== undefined && !isAllowed(grant, now)) throw outsideLimits(grant);
  const file = managedBy(path);
  if (file !== undefined) return resultAs(path, "skipped", message("MANAGED_BY_FILE", { file }));
  if (oldBody === newBody) return resultAs(path, "skipped", passwordsStay(changed));
  if (oldBody === null) {
    if (now === undefined) return resultAs(path, "unchanged");
    draft.delete(RULES, path);
    return resultAs(path, "deleted");
  }
  const rule = withCurrentPasswords({ ...readBody(oldBody), path, revision: 0 }, change, now);
  const redirected = redirectedPasswords(
    now,
    { rule, given: [] },
    { sites, reveals: grant.has("rules:reveal"), isAdopted: false },
  );
  if (redirected.length > 0) {
    const items = passwordFields(redirected, sites).join(", ");
    return resultAs(path, "skipped", message("RULE_ROLLBACK_REDIRECTS", { items }));
  }
  const isChanged = draft.put(RULES, rule);
  const lost = passwordFields(rule.missing, sites);
  const note =
    lost.length > 0
      ? message("RULE_PASSWORDS_LOST", { items: lost.join(", ") })
      : passwordsStay(changed);
  const leftOut = [...new Set([...lost, ...changed])];
  if (now === undefined) return resultAs(path, "created", note, { leftOut });
  const differs = changedMembers(now, rule, { sites });
  if (isChanged) return resultAs(path, "changed", note, { leftOut, differs });
  return leftOut.length > 0 ? resultAs(path, "skipped", note) : resultAs(path, "unchanged");
}

/** Note for passwords that have changed and keep their values. */
function passwordsStay(fields: readonly string[]): Text {
  return fields.length === 0 ? "" : message("SECRETS_STAY", { items: fields.join(", ") });
}

/** The rule as it was, with its current passwords. Those without a current value are missing. */
function withCurrentPasswords(
  before: Rule,
  { oldHashes }: Pick<StoredChange, "oldHashes">,
  now: Rule | undefined,
): Rule {
  const overrides: Record<string, RuleOverride> = {};
  for (const [site, override] of Object.entries(before.overrides)) {
    const password = now?.overrides[site]?.values.password ?? override.values.password;
    const values = { ...override.values, ...(password !== undefined && { password }) };
    overrides[site] = { ...override, values };
  }
  const had = Object.keys(oldHashes ?? {}).map(siteOfPart);
  const missing = [...new Set([...before.missing, ...had])].filter((site) => {
    if (site === "") return (now?.values.password ?? "") === "";
    return (now?.overrides[site]?.values.password ?? "") === "";
  });
  const { blind: _blind, ...rest } = before;
  return {
    ...rest,
    values: { ...before.values, password: now?.values.password ?? "" },
    overrides,
    ...(now?.blind !== undefined && { blind: now.blind }),
    missing,
  };
}
