import type { StoredChange } from "../ledger/store.ts";
import { placeOf } from "../records/secret-place.ts";
import type { Rule, RuleOverride } from "./rule.ts";
import { readBody } from "./stored.ts";

/**
 * The rule as it was before a change, with its current passwords. Those without a current value are
 * missing.
 *
 * @param body its open part before the change. @param now the current rule.
 */
export function restoredRule(
  { key: path, oldHashes }: Pick<StoredChange, "key" | "oldHashes">,
  body: string,
  now: Rule | undefined,
): Rule {
  const { blind: _blind, ...before } = readBody(body);
  const overrides: Record<string, RuleOverride> = {};
  for (const [site, override] of Object.entries(before.overrides)) {
    const password = now?.overrides[site]?.values.password ?? override.values.password;
    const values = { ...override.values, ...(password !== undefined && { password }) };
    overrides[site] = { ...override, values };
  }
  const had = Object.keys(oldHashes ?? {}).map((part) => placeOf(part).site);
  const missing = [...new Set([...before.missing, ...had])].filter((site) => {
    if (site === "") return (now?.values.password ?? "") === "";
    return (now?.overrides[site]?.values.password ?? "") === "";
  });
  return {
    ...before,
    path,
    values: { ...before.values, password: now?.values.password ?? "" },
    overrides,
    ...(now?.blind !== undefined && { blind: now.blind }),
    missing,
    revision: 0,
  };
}
