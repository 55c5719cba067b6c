import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import { validateDriverConfig } from "../drivers/validate.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue, setOwn } from "../own-value.ts";
import type { UncheckedValues } from "../records/unchecked.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { Mount, Values } from "./mount.ts";
import { isSecretItem } from "./secret-item.ts";

/** Members of the form that are not items of a mount but have their own members. */
const OWN_MEMBERS = new Set(["mount_path", "driver", "disabled"]);

/** Problem of one value. */
export interface ValueProblem {
  /** Name of the item or member. */
  readonly name: string;
  /** Place in the mount, such as `overrides.home.config.root_folder_path`. */
  readonly at: string;
  readonly problem: Text;
  /** The value; undefined: there is none. */
  readonly value: Scalar | undefined;
}

/**
 * Problems of the values of a mount on a site: those of the mount, and of the site's override.
 *
 * @param source.before problems that this state has with the same values are left out.
 * @param source.carries members that the form lacks are left out.
 */
export function valueProblems(
  driver: DriverInfo,
  mount: Mount,
  site: string,
  source: ValueSource,
): readonly ValueProblem[] {
  const problems = problemsOn(driver, mount, site, source);
  if (source.before === undefined || problems.length === 0) return problems;
  const earlier = new Map(
    problemsOn(driver, source.before, site, { ...source, carries: false }).map(({ at, value }) => [
      at,
      value,
    ]),
  );
  const isOld = ({ at, value }: ValueProblem): boolean =>
    earlier.has(at) && (earlier.get(at) ?? "") === (value ?? "");
  return problems.filter((problem) => !isOld(problem));
}

/** Values of a mount that its form would refuse; of secrets their fields alone. */
export function uncheckedValues(
  mount: Mount,
  driver: DriverInfo,
  { nameOf }: Pick<SiteNames, "nameOf">,
): UncheckedValues {
  const source = { before: undefined, carries: false, nameOf };
  const values: Record<string, Scalar | null> = {};
  for (const site of ["", ...Object.keys(mount.overrides)])
    for (const { at, name, value = null } of problemsOn(driver, mount, site, source))
      setOwn(values, at, at.includes("config.") && isSecretItem(driver, name) ? null : value);
  return values;
}

/** Origin of the checked values. */
export interface ValueSource {
  readonly before: Mount | undefined;
  readonly carries: boolean;
  readonly nameOf: (siteId: string) => string;
}

function problemsOn(
  driver: DriverInfo,
  mount: Mount,
  site: string,
  { carries, nameOf }: ValueSource,
): ValueProblem[] {
  const override = mount.overrides[site];
  const common = new Set(driver.common.map(({ name }) => name));
  const isOffered = (name: string): boolean => common.has(name) && !OWN_MEMBERS.has(name);
  const offered = (members: Values = {}): Values =>
    Object.fromEntries(Object.entries(members).filter(([name]) => isOffered(name)));
  const own = { ...override?.items, ...offered(override?.members) };
  const values: Values = {
    mount_path: mount.path,
    ...offered(mount.members),
    ...mount.items,
    ...own,
  };
  const prefix = site === "" ? "" : `overrides.${nameOf(site)}.`;
  const isLost = (name: string): boolean =>
    !Object.hasOwn(values, name) &&
    mount.missing.some((each) => each.item === name && (each.site === "" || each.site === site));
  const problems: ValueProblem[] = [];
  const add = (place: string, name: string, value: Scalar | undefined, problem: Text) =>
    problems.push({ name, at: `${prefix}${place}${name}`, problem, value });
  for (const { field: name, description } of validateDriverConfig(driver, values).violations) {
    // Problems of the mount itself are reported once, not per site.
    if ((site !== "" && !Object.hasOwn(own, name)) || isLost(name)) continue;
    const place = common.has(name) ? (OWN_MEMBERS.has(name) ? "" : "members.") : "config.";
    add(place, name, ownValue(values, name), description);
  }
  for (const [name, value] of Object.entries({ ...mount.members, ...override?.members }))
    if (!isOffered(name) && !carries) add("members.", name, value, message("ITEM_NOT_IN_FORM"));
  for (const [name, value] of Object.entries({ ...mount.items, ...override?.items }))
    if (common.has(name)) add("config.", name, value, message("ITEM_IS_MEMBER"));
  return problems;
}
