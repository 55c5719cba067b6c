import { type MountInput, withMountInput } from "../input.ts";
import type { Mount } from "../mount.ts";
import { changedNames, type SaveRules } from "../save.ts";

/**
 * Reports whether a mount that a file declares has all values of an input: nothing is to be saved.
 * Sent secrets differ for a caller who may not read them.
 */
export function isSameManaged(
  before: Mount | undefined,
  input: MountInput,
  rules: SaveRules,
): boolean {
  if (before === undefined || rules.managedBy(input.name) === undefined) return false;
  const { mount, violations, given } = withMountInput(before, input, { ...rules, field: "" });
  return (
    violations.length === 0 &&
    (rules.reveals || given.length === 0) &&
    changedNames(before, mount, { nameOf: rules.sites.nameOf }).length === 0
  );
}
