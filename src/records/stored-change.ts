import type { Grant, PathNoun } from "../access/grant.ts";
import type { ChangeHeader } from "../ledger/store.ts";
import type { AttributesOnSites } from "../sites/site-choice.ts";

type Attributes = Pick<ChangeHeader, "oldAttributes" | "newAttributes">;

/** Paths of a record before and after a change. */
function pathsOfChange({ oldAttributes, newAttributes }: Attributes): readonly string[] {
  return [oldAttributes, newAttributes].flatMap((json) =>
    json === null ? [] : (JSON.parse(json) as AttributesOnSites).paths,
  );
}

/** Reports whether the limits of a caller permit a change, with all paths before and after. */
export function allowsChange(
  { noun }: { readonly noun: PathNoun },
  grant: Grant,
  change: Attributes,
): boolean {
  if (grant.limits.length === 0) return true;
  const paths = pathsOfChange(change);
  return paths.length > 0 && paths.every((path) => grant.allowsPath(noun, path));
}
