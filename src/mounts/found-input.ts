import type { Scalar } from "../drivers/item-value.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import { ownValue } from "../own-value.ts";
import type { RecordEtag } from "../records/etag.ts";
import type { Site } from "../sites/site.ts";
import type { MountInput } from "./input.ts";
import { type Mount, missingOn, type Values, wantedOn } from "./mount.ts";
import type { FoundMount } from "./site/adoption.ts";
import { itemKind } from "./site/item-kind.ts";
import { plainValue } from "./site/row.ts";

/**
 * Converts a site's mount to an input. For a mount of several sites or with an override, differing
 * values become the site's override. The input is rejected when the mount has changed since.
 *
 * @param before the current mount; undefined: none.
 * @param isShared whether other sites have it.
 */
export function foundInput(
  found: FoundMount,
  site: Pick<Site, "id" | "name">,
  before: Mount | undefined,
  { isShared, etagOf }: { readonly isShared: boolean; readonly etagOf: RecordEtag<Mount> },
): MountInput {
  const { name, path, driver, row, disabled, leftOut } = found;
  if (before === undefined)
    return {
      name,
      path,
      driver,
      config: found.items,
      members: found.members,
      disabled,
      leftOut,
      sites: [site.name],
      expectedEtag: NO_RECORD,
    };
  const wanted = wantedOn(before, site.id);
  const items = withAbsent(
    found.items,
    wanted.items,
    (item) => !leftOut.includes(`config.${item}`) && itemKind(driver, item) !== "learned",
  );
  const members = withAbsent(
    found.members,
    wanted.members,
    (member) => !leftOut.includes(member) && Object.hasOwn(row, member),
  );
  const expectedEtag = etagOf(before);
  if (!isShared && before.overrides[site.id] === undefined)
    return { name, path, config: items, members, disabled, leftOut, expectedEtag };
  // A server fills absent items with empty values, which are not a difference.
  const isEmpty = (value: unknown): boolean => value === "" || value === 0 || value === false;
  const lost = new Set(missingOn(before, site.id));
  const differing = (values: Values, base: Values): Values =>
    Object.fromEntries(
      Object.entries(values).filter(
        ([item, value]) =>
          lost.has(item) ||
          (ownValue(base, item) !== value && (Object.hasOwn(base, item) || !isEmpty(value))),
      ),
    );
  return {
    name,
    expectedEtag,
    leftOut,
    overrides: {
      [site.name]: {
        path: path === before.path ? "" : path,
        config: differing(items, before.items),
        members: differing(members, before.members),
      },
    },
  };
}

/**
 * Values of a row, with the server's zero values for those of the mount that it does not have.
 *
 * @param isThere whether the row can have a value.
 */
function withAbsent(found: Values, wanted: Values, isThere: (name: string) => boolean): Values {
  const absent = Object.entries(wanted).filter(
    ([name]) => !Object.hasOwn(found, name) && isThere(name),
  );
  return {
    ...found,
    ...Object.fromEntries(
      absent.map(([name, value]) => [name, plainValue(undefined, value) as Scalar]),
    ),
  };
}
