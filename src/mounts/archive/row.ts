import type { DriverInfo } from "../../drivers/driver-info.ts";
import { defaultOf, type Scalar, scalarOf } from "../../drivers/item-value.ts";
import { isObject } from "../../is-object.ts";
import { message, type Text } from "../../messages/message.ts";
import type { SecretPlace } from "../../records/secret-place.ts";
import { MASK } from "../../settings/value.ts";
import { overridesByName } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { cleanPath } from "../../sites/site-path.ts";
import { createTicks } from "../../ticks.ts";
import type { MountInput, OverrideInput } from "../input.ts";
import type { Mount } from "../mount.ts";
import { isSecretItem } from "../secret-item.ts";
import { freeName } from "../site/adoption.ts";
import { hiddenMembers, itemKind } from "../site/item-kind.ts";
import { type RowValues, readMount, VALUE_MEMBERS } from "../site/read.ts";
import { readAddition, type StorageRow } from "../site/row.ts";
import { namesOf, type OwnMembers, ownOf } from "./exported-row.ts";
import { isRefreshedHere } from "./refreshed.ts";

/** Row of an import: a mount to be saved, or the reason for which it is skipped. */
export type ReadRow =
  | { readonly path: string; readonly input: MountInput }
  | { readonly path: string; readonly reason: Text };

export interface RowOptions {
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Sites of new mounts. Undefined: those of the document. Existing mounts keep theirs. */
  readonly sites: MountInput["sites"];
  /** All sites. */
  readonly names: SiteNames;
}

/**
 * Reads rows of storages of an OpenList or AList server, whose addition may be an object. A row changes
 * the mount that it names (`exported-row.ts`), or that has its path.
 */
export async function readRows(
  rows: readonly unknown[],
  options: RowOptions,
): Promise<readonly ReadRow[]> {
  const ticks = createTicks();
  const read = createRowReader(options, rows);
  const all: ReadRow[] = [];
  for (const [at, given] of rows.entries()) {
    if (ticks.isDue()) await ticks.next();
    all.push(read(given, at + 1));
  }
  return all;
}

/** Reads one row; `number` counts from 1. */
type RowReader = (given: unknown, number: number) => ReadRow;

function createRowReader(options: RowOptions, rows: readonly unknown[]): RowReader {
  const { mounts, driverOf } = options;
  const byPath = new Map([...mounts.values()].map((mount) => [mount.path, mount]));
  // Names in the document are not given to other rows.
  const taken = new Set([...mounts.keys(), ...rows.flatMap((row) => ownOf(row)?.name ?? [])]);
  return (given, number) => {
    const place = `row ${number}`;
    const complete = completeRow(given, number);
    if (complete.row === undefined)
      return { path: complete.path ?? place, reason: complete.reason };
    const { row } = complete;
    const path = cleanPath(row.mount_path);
    const form = driverOf(row.driver);
    const values = readMount(row, form);
    if (values === undefined) return { path, reason: message("ADDITION_NOT_JSON") };
    const own = ownOf(given);
    const named = own?.name === undefined ? undefined : mounts.get(own.name);
    const before = named ?? byPath.get(path);
    if (before !== undefined && before.driver !== row.driver) {
      const { name } = before;
      const reason = named
        ? message("NAME_WITH_OTHER_DRIVER", { name })
        : message("PATH_WITH_OTHER_DRIVER", { name });
      return { path, reason };
    }
    const sites = sitesOf(own, before, options);
    if (sites.isNone)
      return { path, reason: message("ROW_SITES_UNKNOWN", { sites: sites.unknown.join(", ") }) };
    const items = Object.entries(values.items).filter(
      ([name, value]) => !isFilled(`config.${name}`, value, own, form),
    );
    const members = Object.entries(values.members).filter(
      ([name, value]) => !isFilled(name, value, own, form),
    );
    const isNewer = ([item]: readonly [string, unknown]): boolean =>
      isRefreshedHere(row.driver, item, before?.items);
    const input: MountInput = {
      name: before?.name ?? own?.name ?? freeName(path, taken),
      path,
      driver: row.driver,
      config: Object.fromEntries(items.filter((entry) => !isNewer(entry))),
      members: Object.fromEntries(members),
      disabled: values.disabled,
      content: own?.content,
      sites: sites.chosen,
      ...(own?.overrides !== undefined && { overrides: overridesOf(own, options, before) }),
      lost: before === undefined ? lostOf(row, own, values, form, options.names) : [],
      newer: items.filter(isNewer).flatMap(([item, value]) => (value === "" ? [] : [item])),
      leftOut: [
        ...values.leftOut,
        ...extrasOf(row, form),
        ...sites.unknown.map((site) => `sites.${site}`),
        ...unknownOverrides(own, options).map((site) => `overrides.${site}`),
        ...(own?.name !== undefined && before !== undefined && before.name !== own.name
          ? ["name"]
          : []),
      ],
    };
    return { path, input };
  };
}

/** Reports whether an exported row has a value only because the form has this default. */
function isFilled(
  place: string,
  value: Scalar,
  own: OwnMembers | undefined,
  form: DriverInfo | undefined,
): boolean {
  if (own === undefined || form === undefined || !own.filled.includes(place)) return false;
  const item = place.startsWith("config.")
    ? form.additional.find(({ name }) => place === `config.${name}`)
    : form.common.find(({ name }) => place === name);
  return item !== undefined && defaultOf(item) === value;
}

/** Members of a row that are no values of a mount. */
const OTHER_MEMBERS = new Set([
  "id",
  "mount_path",
  "driver",
  "addition",
  "status",
  "disabled",
  "modified",
  "mount_details",
  "missing",
  "mooring",
]);

function isSet(value: unknown): boolean {
  return ![undefined, null, "", 0, false].includes(value as null);
}

/** Values of a row that no mount has: unknown members, and members of the addition beyond the form. */
function extrasOf(row: StorageRow, form: DriverInfo | undefined): string[] {
  if (form === undefined) return [];
  const { name: driver } = form.config;
  const items = new Set(form.additional.map(({ name }) => name));
  const hidden = hiddenMembers(driver);
  const isKnown = (name: string): boolean =>
    items.has(name) || Object.hasOwn(hidden, name) || itemKind(driver, name) === "learned";
  const names = (values: object, isOther: (name: string) => boolean): string[] =>
    Object.entries(values).flatMap(([name, value]) =>
      isOther(name) && isSet(value) ? [name.slice(0, MAX_NAME).toWellFormed()] : [],
    );
  return [
    ...names(readAddition(row.addition) ?? {}, (name) => !isKnown(name)).map(
      (name) => `config.${name}`,
    ),
    ...names(row, (name) => !VALUE_MEMBERS.has(name) && !OTHER_MEMBERS.has(name)),
  ].slice(0, MAX_EXTRAS);
}

/** Limits of the names in a result. */
const MAX_EXTRAS = 50;
const MAX_NAME = 64;

/** Secrets of a new mount whose values the document does not have. */
function lostOf(
  row: StorageRow,
  own: OwnMembers | undefined,
  { items }: RowValues,
  form: DriverInfo | undefined,
  { idOf }: Pick<SiteNames, "idOf">,
): SecretPlace[] {
  const isSecret = (name: string): boolean =>
    form?.additional.some((item) => item.name === name) === true && isSecretItem(form, name);
  const ofMount = namesOf(row["missing"])
    .filter((name) => !Object.hasOwn(items, name) && isSecret(name))
    .map((item) => ({ site: "", item }));
  const ofSites = Object.entries(own?.overrides ?? {}).flatMap(([site, { missing }]) =>
    missing.filter(isSecret).flatMap((item) => {
      const id = idOf(site);
      return id === undefined ? [] : [{ site: id, item }];
    }),
  );
  return [...ofMount, ...ofSites];
}

/**
 * Completes a row with members that some tools omit, and converts values that `sqlite3 -json` writes
 * as numbers.
 */
function completeRow(
  given: unknown,
  id: number,
):
  | { readonly row: StorageRow }
  | { readonly row?: undefined; readonly path?: string; readonly reason: Text } {
  if (!isObject(given)) return { reason: message("ROW_NOT_OBJECT") };
  const text = (name: string): string => {
    const value = given[name];
    return typeof value === "string" ? value : "";
  };
  const absent = ["mount_path", "driver"].filter((name) => text(name) === "");
  if (absent.length > 0) return { reason: message("NOT_A_ROW", { members: absent.join(", ") }) };
  const { addition = null } = given;
  const disabled = scalarOf(given["disabled"] ?? false, "bool");
  if (disabled === undefined)
    return { path: cleanPath(text("mount_path")), reason: message("ROW_DISABLED_INVALID") };
  const row: StorageRow = {
    ...given,
    id,
    mount_path: text("mount_path"),
    driver: text("driver"),
    status: text("status"),
    disabled: disabled === true,
    addition: typeof addition === "string" ? addition : JSON.stringify(addition ?? {}),
  };
  return { row };
}

/**
 * Sites of a mount: those of the request for a new one, else those of the document that exist.
 *
 * @returns `chosen` undefined: they stay as they are. `isNone`: no site of the document exists.
 */
function sitesOf(
  own: OwnMembers | undefined,
  before: Mount | undefined,
  { sites, names }: RowOptions,
): {
  readonly chosen: MountInput["sites"];
  readonly unknown: readonly string[];
  readonly isNone: boolean;
} {
  const wanted = before === undefined ? (sites ?? own?.sites) : own?.sites;
  if (wanted === undefined || wanted === "all")
    return { chosen: wanted, unknown: [], isNone: false };
  const unknown = wanted.filter((site) => names.idOf(site) === undefined);
  const chosen = wanted.filter((site) => !unknown.includes(site));
  return { chosen, unknown, isNone: unknown.length > 0 && chosen.length === 0 };
}

/** Overrides of sites that exist here. Secrets that the document lacks keep their current values. */
function overridesOf(
  own: OwnMembers,
  options: RowOptions,
  before: Mount | undefined,
): Record<string, OverrideInput> {
  const none: OverrideInput = { path: "", config: {}, members: {} };
  const { names: sites } = options;
  const gone = before === undefined ? [] : overridesByName(before, sites);
  const kept = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, MASK]));
  const known = Object.entries(own.overrides ?? {})
    .filter(([site]) => sites.idOf(site) !== undefined)
    .map(([site, { path, config, members, missing }]) => [
      site,
      { path, config: { ...config, ...kept(missing) }, members },
    ]);
  return {
    ...Object.fromEntries(gone.map(([site]) => [site, none])),
    ...Object.fromEntries(known),
  };
}

function unknownOverrides(own: OwnMembers | undefined, { names }: RowOptions): readonly string[] {
  return Object.keys(own?.overrides ?? {}).filter((site) => names.idOf(site) === undefined);
}
