import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import { validateDriverConfig } from "../drivers/validate.ts";
import { unpairedSurrogate } from "../json-surrogate.ts";
import { failedPrecondition, type Violation } from "../messages/error.ts";
import { type Message, message, problemAt, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { toNfc } from "../nfc.ts";
import { ownValue, setOwn } from "../own-value.ts";
import type { SecretPlace } from "../records/secret-place.ts";
import { isUnchecked, type UncheckedValues } from "../records/unchecked.ts";
import { MASK } from "../settings/value.ts";
import { type ChosenSites, chosenSites, overridesById } from "../sites/site-choice-input.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { cleanPath, pathProblem } from "../sites/site-path.ts";
import type { Mount, Override, Values } from "./mount.ts";
import { itemKind } from "./site/item-kind.ts";

/** Values to set; null removes one. */
export type ValueInput = Readonly<Record<string, unknown>>;

export interface OverrideInput {
  readonly path: string;
  readonly config: ValueInput;
  readonly members: ValueInput;
}

/** Client's input for a mount. Undefined members stay unchanged. */
export interface MountInput {
  readonly name: string;
  readonly path?: string | undefined;
  readonly driver?: string | undefined;
  readonly config?: ValueInput | undefined;
  readonly members?: ValueInput | undefined;
  readonly disabled?: boolean | undefined;
  readonly content?: Mount["content"] | undefined;
  /** Names of sites; empty: none. `all`: also those that are created later. */
  readonly sites?: ChosenSites | undefined;
  /** By the site's name. */
  readonly overrides?: Readonly<Record<string, OverrideInput>> | undefined;
  /**
   * Items whose values are missing in the source: the mount is incomplete until they
   * are given.
   */
  readonly lost?: readonly SecretPlace[];
  /** Items of the source whose current values are kept, because the server refreshes them. */
  readonly newer?: readonly string[];
  /** Values of the source that are not taken, because stored secrets stay. Named as in an archive. */
  readonly kept?: readonly string[];
  /** Values of the source that the mount does not keep, such as `config.root_folder_path`. */
  readonly leftOut?: readonly string[];
  /** Values that are taken as they are although the form refuses them. */
  readonly unchecked?: UncheckedValues | undefined;
  /** Etag that the mount must have; 0: it must not exist. Undefined: any. */
  readonly expectedEtag?: string | undefined;
}

/** Letters of any script, so that a name can be as readable as a path. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u;
/** Maximum size of all values of a mount, in bytes of UTF-8. */
const MAX_BYTES = 65_536;
/** The NUL character in JSON. */
const ESCAPED_NUL = /(?<!\\)(?:\\\\)*\\u0000/;
/** Members of the form that are not items of a mount but have their own members. */
const OWN_MEMBERS = new Set(["mount_path", "driver", "disabled"]);

/** @returns the problem of a mount's name; undefined: valid. */
export function nameProblem(name: string): Message | undefined {
  const isValid = NAME.test(name) && name === toNfc(name);
  return isValid ? undefined : message("NAME_INVALID");
}

/** Reports whether an item is a secret: never shown, and stored in a row of its own. */
export function isSecretItem(driver: DriverInfo | undefined, name: string): boolean {
  if (driver === undefined) return true;
  const item = driver.additional.find((each) => each.name === name);
  return item === undefined || item.secret || itemKind(driver.config.name, name) === "learned";
}

export interface CheckedMount {
  readonly mount: Mount;
  readonly violations: readonly Violation[];
  /** Problems of values that are taken as their source has them. */
  readonly warnings: readonly Text[];
  /** Secret items that the client gave; `site` is an id. */
  readonly given: readonly { readonly item: string; readonly site: string | undefined }[];
}

/**
 * Applies a client's input to a mount. Items are checked against the catalogue; violations have
 * fields such as `mounts[3].config.root_folder_path` and never quote a value. Problems of values
 * that stay unchanged are no violations.
 *
 * @param before current mount; undefined: a new one.
 */
export function withMountInput(
  before: Mount | undefined,
  input: MountInput,
  options: {
    readonly field: string;
    readonly driverOf: (name: string) => DriverInfo | undefined;
    readonly driverNames: () => Iterable<string>;
    readonly sites: SiteNames;
    /**
     * Whether the values come from a site, a document or another mount: they are taken as they are,
     * and their problems are warnings.
     */
    readonly carries?: boolean;
  },
): CheckedMount {
  const { field } = options;
  const violations: Violation[] = [];
  // After those of values: the choice of sites is the last step of a new mount.
  const ofSites: Violation[] = [];
  const reportInto =
    (found: Violation[]) =>
    (at: string, problem: Text | undefined): void => {
      if (problem !== undefined)
        found.push({
          field: `${field}${at}`,
          description: problemAt(`${field}${at}`, problem),
        });
    };
  const report = reportInto(violations);
  const driverName = input.driver ?? before?.driver ?? "";
  const driver = options.driverOf(driverName);
  report("name", nameProblem(input.name));
  if (before !== undefined && driverName !== before.driver)
    report("driver", message("FIELD_IMMUTABLE"));
  else if (driver === undefined)
    report(
      "driver",
      driverName === ""
        ? message("FIELD_REQUIRED")
        : message("DRIVER_UNKNOWN", {
            name: JSON.stringify(driverName),
            hint: didYouMean(driverName, options.driverNames()),
          }),
    );
  if (before === undefined && input.path === undefined)
    report("mount_path", message("FIELD_REQUIRED"));
  const path = cleanPath(input.path ?? before?.path ?? "");
  report("mount_path", pathProblem(input.path ?? before?.path ?? "/"));
  const siteIds = chosenSites(before, input.sites, options.sites, reportInto(ofSites));
  const given = overridesById(input.overrides, options.sites, report);
  const items = merged(before?.items, input.config);
  const members = merged(before?.members, input.members);
  const overrides = withOverrides(before?.overrides ?? {}, given);
  const nameOf = (site: string): string => options.sites.nameOf(site) || site;
  for (const [site, override] of Object.entries(overrides))
    if (override.path !== "")
      report(`overrides.${nameOf(site)}.mount_path`, pathProblem(override.path));
  const mount: Mount = {
    name: input.name,
    path,
    driver: driverName,
    siteIds,
    items: items as Values,
    members: members as Values,
    disabled: input.disabled ?? before?.disabled ?? false,
    content: input.content ?? before?.content ?? "adopt",
    overrides: Object.fromEntries(
      Object.entries(overrides).filter(([, { path: own, items: some, members: few }]) =>
        [own !== "", Object.keys(some).length > 0, Object.keys(few).length > 0].includes(true),
      ),
    ),
    credentialRevision: before?.credentialRevision ?? 0,
    ...(before?.blind !== undefined && { blind: before.blind }),
    missing: missingItems(before, input.lost).filter((each) => !isGiven(each, input.config, given)),
    revision: before?.revision ?? 0,
  };
  const warnings: Text[] = [];
  if (driver !== undefined)
    for (const site of ["", ...Object.keys(mount.overrides)])
      for (const { at, problem, value } of valueProblems(driver, mount, site, {
        before,
        carries: options.carries ?? false,
        nameOf,
      }))
        if (options.carries || isUnchecked(input.unchecked, at, value))
          warnings.push(problemAt(at, problem));
        else report(at, problem);
  const json = JSON.stringify(mount);
  if (Buffer.byteLength(json) > MAX_BYTES)
    report("config", message("MOUNT_TOO_LARGE", { most: MAX_BYTES / 1_024 }));
  // Also in values that are taken as they are: no message and no database could have them.
  if (unpairedSurrogate(json) !== undefined) report("config", message("SURROGATE"));
  if (ESCAPED_NUL.test(json)) report("config", message("NUL_CHARACTER"));
  return {
    mount,
    violations: [...violations, ...ofSites],
    warnings,
    given: givenSecrets(driver, input.config, given),
  };
}

/** Extends an input so that it replaces the whole mount, except for items that sites refresh. */
export function wholeInput(
  input: MountInput,
  before: Mount | undefined,
  { nameOf }: Pick<SiteNames, "nameOf">,
): MountInput {
  if (before === undefined) return input;
  const gone = (values: Values, given: ValueInput = {}): ValueInput => ({
    ...Object.fromEntries(
      Object.keys(values)
        .filter((name) => itemKind(before.driver, name) !== "learned")
        .map((name) => [name, null]),
    ),
    ...given,
  });
  const lost = before.missing.filter(({ site }) => site === "").map(({ item }) => [item, null]);
  const none: OverrideInput = { path: "", config: {}, members: {} };
  return {
    ...input,
    config: { ...Object.fromEntries(lost), ...gone(before.items, input.config) },
    members: gone(before.members, input.members),
    overrides: {
      ...Object.fromEntries(
        Object.keys(before.overrides).flatMap((site) =>
          nameOf(site) === "" ? [] : [[nameOf(site), none]],
        ),
      ),
      ...input.overrides,
    },
  };
}

function missingItems(
  before: Mount | undefined,
  lost: readonly SecretPlace[] = [],
): readonly SecretPlace[] {
  const known = before?.missing ?? [];
  const isKnown = ({ site, item }: SecretPlace): boolean =>
    known.some((each) => each.site === site && each.item === item);
  return [...known, ...lost.filter((each) => !isKnown(each))];
}

/** Reports whether an input replaces or removes a lost value. */
function isGiven(
  { site, item }: SecretPlace,
  config: ValueInput | undefined,
  overrides: Readonly<Record<string, OverrideInput>>,
): boolean {
  const override = overrides[site];
  const values = site === "" ? config : override?.config;
  if (values !== undefined && Object.hasOwn(values, item)) return values[item] !== MASK;
  // An override without any value removes that of the site.
  return override !== undefined && isEmptyOverride(override);
}

function isEmptyOverride({ path, config, members }: OverrideInput): boolean {
  return path === "" && Object.keys(config).length === 0 && Object.keys(members).length === 0;
}

/** Problem of one value. */
interface ValueProblem {
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
function valueProblems(
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
interface ValueSource {
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

/** Merges values: null removes a value, and the mask keeps the current one or its absence. */
function merged(before: ValueInput = {}, given: ValueInput = {}): Record<string, unknown> {
  const values: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(given))
    if (value === null) delete values[name];
    else if (value !== MASK) setOwn(values, name, value);
  return values;
}

function withOverrides(
  before: Mount["overrides"],
  given: Readonly<Record<string, OverrideInput>>,
): Record<string, Override> {
  const all: Record<string, Override> = { ...before };
  for (const [site, { path, config, members }] of Object.entries(given)) {
    const known = before[site];
    // An override is replaced as a whole, except for masked values.
    const keep = (values: Values | undefined, some: ValueInput): Values =>
      Object.fromEntries(
        Object.entries(some).flatMap(([name, value]): [string, Scalar][] => {
          const kept = value === MASK ? ownValue(values, name) : (value as Scalar);
          return kept === undefined ? [] : [[name, kept]];
        }),
      );
    all[site] = {
      path: path === "" ? "" : cleanPath(path),
      items: keep(known?.items, config),
      members: keep(known?.members, members),
      ...(known?.credentialRevision !== undefined && {
        credentialRevision: known.credentialRevision,
      }),
    };
  }
  return all;
}

function givenSecrets(
  driver: DriverInfo | undefined,
  config: ValueInput | undefined,
  overrides: Readonly<Record<string, OverrideInput>>,
): CheckedMount["given"] {
  const of = (values: ValueInput = {}, site?: string) =>
    Object.entries(values).flatMap(([item, value]) =>
      value === null || value === MASK || !isSecretItem(driver, item) ? [] : [{ item, site }],
    );
  return [
    ...of(config),
    ...Object.entries(overrides).flatMap(([site, override]) => of(override.config, site)),
  ];
}

/**
 * Creates inputs that replace a value in all mounts of one driver.
 *
 * @param from location of the old value; `site` is an id, empty: the mount itself.
 * @throws FAILED_PRECONDITION when there is no value.
 */
export function replaceInputs(
  from: {
    readonly mount: Mount;
    readonly site: string;
    readonly item: string;
    readonly value: string;
  },
  mounts: readonly Mount[],
  { nameOf }: Pick<SiteNames, "nameOf">,
): MountInput[] {
  const { mount, site, item, value } = from;
  const old = ownValue(site === "" ? mount.items : mount.overrides[site]?.items, item);
  if (old === undefined || old === "")
    throw failedPrecondition(message("NO_CREDENTIAL", { name: mount.name, item }));
  return mounts.flatMap((each): MountInput[] => {
    if (each.driver !== mount.driver) return [];
    const isOwn = ownValue(each.items, item) === old;
    const overrides = Object.entries(each.overrides).filter(
      ([id, { items }]) => ownValue(items, item) === old && nameOf(id) !== "",
    );
    if (!isOwn && overrides.length === 0) return [];
    return [
      {
        name: each.name,
        ...(isOwn && { config: { [item]: value } }),
        overrides: Object.fromEntries(
          overrides.map(([id, { path, items, members }]) => [
            nameOf(id),
            { path, config: { ...items, [item]: value }, members },
          ]),
        ),
      },
    ];
  });
}
