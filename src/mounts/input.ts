import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import { unpairedSurrogate } from "../json-surrogate.ts";
import type { Violation } from "../messages/error.ts";
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
import { isSecretItem } from "./secret-item.ts";
import { itemKind } from "./site/item-kind.ts";
import { valueProblems } from "./value-problem.ts";

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
/** @returns the problem of a mount's name; undefined: valid. */
export function nameProblem(name: string): Message | undefined {
  const isValid = NAME.test(name) && name === toNfc(name);
  return isValid ? undefined : message("NAME_INVALID");
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
  report("driver", driverProblem(before, driverName, options));
  if (before === undefined && input.path === undefined)
    report("mount_path", message("FIELD_REQUIRED"));
  const path = cleanPath(input.path ?? before?.path ?? "");
  report("mount_path", pathProblem(input.path ?? before?.path ?? "/"));
  const siteIds = chosenSites(before, input.sites, options.sites, reportInto(ofSites));
  const given = overridesById(input.overrides, options.sites, report);
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
    items: merged(before?.items, input.config) as Values,
    members: merged(before?.members, input.members) as Values,
    disabled: input.disabled ?? before?.disabled ?? false,
    content: input.content ?? before?.content ?? "adopt",
    overrides: Object.fromEntries(
      Object.entries(overrides).filter(
        ([, { path: own, items: config, members }]) =>
          !isEmptyOverride({ path: own, config, members }),
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
  for (const problem of jsonProblems(JSON.stringify(mount))) report("config", problem);
  return {
    mount,
    violations: [...violations, ...ofSites],
    warnings,
    given: givenSecrets(driver, input.config, given),
  };
}

/** Problem of the driver of a mount; undefined: none. */
function driverProblem(
  before: Mount | undefined,
  name: string,
  {
    driverOf,
    driverNames,
  }: {
    readonly driverOf: (name: string) => DriverInfo | undefined;
    readonly driverNames: () => Iterable<string>;
  },
): Message | undefined {
  if (before !== undefined && name !== before.driver) return message("FIELD_IMMUTABLE");
  if (driverOf(name) !== undefined) return undefined;
  if (name === "") return message("FIELD_REQUIRED");
  const hint = didYouMean(name, driverNames());
  return message("DRIVER_UNKNOWN", { name: JSON.stringify(name), hint });
}

/** Problems of a mount as JSON, also of values that are taken as they are: no message and no database could have them. */
function jsonProblems(json: string): readonly Message[] {
  const problems: Message[] = [];
  if (Buffer.byteLength(json) > MAX_BYTES)
    problems.push(message("MOUNT_TOO_LARGE", { most: MAX_BYTES / 1_024 }));
  if (unpairedSurrogate(json) !== undefined) problems.push(message("SURROGATE"));
  if (ESCAPED_NUL.test(json)) problems.push(message("NUL_CHARACTER"));
  return problems;
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
