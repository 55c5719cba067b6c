import { partOf } from "../records/secret-place.ts";
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

/** Item of a rule that is a secret, of the rule itself and of a site's override. */
export const PASSWORD = "password";

/** Name of a password's part. @param site id of the override's site; empty: the rule itself. */
export function passwordPart(site: string): string {
  return partOf({ site, item: PASSWORD });
}
