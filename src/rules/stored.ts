import { shownSecrets } from "../ledger/shown-secrets.ts";
import type { StoredChange } from "../ledger/store.ts";
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

/** Sites whose passwords a change shows; empty text: the password of the rule itself. */
export function shownPasswords(change: StoredChange): readonly string[] {
  return shownSecrets(change, (body) =>
    (readBody(body).blind ?? []).map(({ site, revision }) => ({ part: partOf(site), revision })),
  ).map(siteOfPart);
}
