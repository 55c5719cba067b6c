import type { Grant } from "../access/grant.ts";
import { shownSecrets } from "../ledger/shown-secrets.ts";
import type { ChangeHeader, StoredChange } from "../ledger/store.ts";
import type { AttributesOnSites } from "../sites/site-choice.ts";
import type { Rule, RuleValues } from "./rule.ts";

/** Open part of a rule: everything but its path, its passwords and its revision. */
export type StoredRule = Omit<Rule, "path" | "revision" | "missing" | "values"> & {
  readonly values: Omit<RuleValues, "password">;
  /** Absent: none. */
  readonly missing?: Rule["missing"];
};

/** Reads the open part of a rule, which is all that the history has of it. */
export function readBody(body: string): Omit<Rule, "path" | "revision"> {
  const stored = JSON.parse(body) as StoredRule;
  return {
    ...stored,
    values: { ...stored.values, password: "" },
    missing: stored.missing ?? [],
  };
}

/** Name of the password's part: of the rule itself, or of a site's override. Ids have no colon. */
export function partOf(site: string): string {
  return `${site}:password`;
}

/** Id of the site whose override has a secret part; empty: the rule itself. */
export function siteOfPart(part: string): string {
  return part.slice(0, part.indexOf(":"));
}

/** Paths of a rule before and after a change. */
export function pathsOfChange({
  oldAttributes,
  newAttributes,
}: Pick<ChangeHeader, "oldAttributes" | "newAttributes">): readonly string[] {
  return [oldAttributes, newAttributes].flatMap((json) =>
    json === null ? [] : (JSON.parse(json) as AttributesOnSites).paths,
  );
}

/** Sites whose passwords a change shows; empty text: the password of the rule itself. */
export function shownPasswords(change: StoredChange): readonly string[] {
  return shownSecrets(change, (body) =>
    (readBody(body).blind ?? []).map(({ site, revision }) => ({ part: partOf(site), revision })),
  ).map(siteOfPart);
}

/** Reports whether the limits of a caller permit a change, with all paths before and after. */
export function allowsChange(
  grant: Grant,
  change: Pick<ChangeHeader, "oldAttributes" | "newAttributes">,
): boolean {
  if (grant.limits.length === 0) return true;
  const paths = pathsOfChange(change);
  return paths.length > 0 && paths.every((path) => grant.allowsPath("rule", path));
}
