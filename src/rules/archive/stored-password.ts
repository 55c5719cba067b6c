// Stored passwords of an existing rule during an import: they stay.
import { ownValue, setOwn } from "../../own-value.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { OverrideInput, RuleInput } from "../input.ts";
import type { Rule } from "../rule.ts";
import { PASSWORD } from "../stored.ts";
import { secretName } from "./entry.ts";

/**
 * Input that replaces a rule as a whole, except for its passwords: a folder must not be open to more
 * people because of an older source.
 *
 * @param options.reveals whether the caller may learn if a password differs; otherwise each that is sent
 *   counts as kept.
 * @returns `kept` names the passwords that would have been replaced or removed.
 */
export function withStoredPasswords(
  before: Rule,
  input: RuleInput,
  { nameOf, reveals }: { readonly nameOf: SiteNames["nameOf"]; readonly reveals: boolean },
): RuleInput {
  const isOther = (stored: string, given: unknown): boolean =>
    stored !== "" && given !== MASK && (!reveals || given !== stored);
  const kept: string[] = [];
  let { values } = input;
  if (isOther(before.values.password, values[PASSWORD])) {
    kept.push(secretName(""));
    values = { ...values, [PASSWORD]: MASK };
  }
  const overrides: Record<string, OverrideInput> = { ...input.overrides };
  for (const [id, { path, values: stored }] of Object.entries(before.overrides)) {
    const site = nameOf(id);
    const given = ownValue(overrides, site) ?? { path, values: {} };
    if (site === "" || !isOther(stored.password ?? "", given.values[PASSWORD])) continue;
    kept.push(secretName(site));
    setOwn(overrides, site, { ...given, values: { ...given.values, [PASSWORD]: MASK } });
  }
  return kept.length === 0 ? input : { ...input, values, overrides, kept };
}
