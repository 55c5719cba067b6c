import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { joinTexts, message, type Text } from "../../messages/message.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import type { SecretPlace } from "../../records/secret-place.ts";
import { MASK } from "../../settings/value.ts";
import { overridesByName, siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { readDeclared } from "../declared-mount.ts";
import { type MountInput, type OverrideInput, type ValueInput, wholeInput } from "../input.ts";
import type { Mount, Values } from "../mount.ts";
import { isSecretItem } from "../secret-item.ts";
import { itemKind } from "../site/item-kind.ts";
import { uncheckedValues } from "../value-problem.ts";

/** Converts a mount to an entry. @param options.isShown whether values of secrets are included. */
export function mountToEntry(
  mount: Mount,
  {
    sites,
    driverOf,
    isShown,
  }: {
    readonly sites: SiteNames;
    readonly driverOf: (name: string) => DriverInfo | undefined;
    readonly isShown: boolean;
  },
): ArchiveEntry {
  const { name, path, driver, disabled, content, items, members } = mount;
  const form = driverOf(driver);
  const secrets: Record<string, SecretValue> = {};
  const missing = mount.missing.flatMap(({ site, item }) => {
    const own = sites.nameOf(site);
    return site !== "" && own === "" ? [] : [secretName(item, own)];
  });
  const open = (values: Values, site = ""): Values => {
    const shown: Record<string, Scalar> = {};
    for (const [item, value] of Object.entries(values)) {
      if (!isSecretItem(form, item) || value === "") setOwn(shown, item, value);
      else if (isShown) secrets[secretName(item, site)] = value;
      else missing.push(secretName(item, site));
    }
    return shown;
  };
  const chosen = siteNamesOf(mount, sites);
  const overrides = overridesByName(mount, sites).map(([site, own]) => [
    site,
    {
      ...(own.path !== "" && { path: own.path }),
      config: open(own.items, site),
      members: own.members,
    },
  ]);
  const unchecked = form === undefined ? {} : uncheckedValues(mount, form, sites);
  return {
    name,
    content: {
      path,
      driver,
      disabled,
      content,
      sites: chosen.length === 0 ? "none" : chosen,
      config: open(items),
      members,
      ...(overrides.length > 0 && { overrides: Object.fromEntries(overrides) }),
      ...(Object.keys(unchecked).length > 0 && { unchecked }),
    },
    secrets,
    missing,
    isSealed: false,
  };
}

/** Name of a secret in an entry. Names of sites have no slash. */
export function secretName(item: string, site: string): string {
  return site === "" ? `config/${item}` : `overrides/${site}/config/${item}`;
}

function readSecretName(
  name: string,
): { readonly site: string; readonly item: string } | undefined {
  const [, site = "", item] = /^(?:overrides\/([^/]+)\/)?config\/(.+)$/s.exec(name) ?? [];
  return item === undefined ? undefined : { site, item };
}

/** Maximum number of unknown sites in a note. */
const MAX_HINTS = 5;

interface ReadOptions {
  readonly names: SiteNames;
  /** Names of sites here, by their names in the archive. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Secret of an entry; without a value if the archive does not have it. */
interface GivenSecret {
  /** Name of a site in the archive; empty: the mount itself. */
  readonly site: string;
  readonly item: string;
  readonly value: SecretValue | undefined;
}

/**
 * Input that replaces a mount by the entry. Values that the archive lacks stay as they are.
 *
 * @param before the mount with this name; undefined: none.
 */
export function entryToInput(
  entry: ArchiveEntry,
  before: Mount | undefined,
  { names, renamed }: ReadOptions,
): { readonly input: MountInput; readonly note: Text } | { readonly reason: Text } {
  const { declared, secrets, problems } = checkEntry(entry);
  const [first] = problems;
  if (first !== undefined) return { reason: textOf(first) };
  const here = (site: string): string => renamed.get(site) ?? site;
  const isUnknown = (site: string): boolean => names.idOf(site) === undefined;
  const { sites, config = {}, overrides = {} } = declared;
  const asked = typeof sites === "object" ? sites.map(here) : [];
  const unknown = asked.filter(isUnknown);
  const [stranger] = unknown;
  if (stranger !== undefined && unknown.length === asked.length)
    return { reason: names.problemOf(stranger) ?? "" };
  const places = [
    ...new Set([...Object.keys(overrides), ...secrets.map(({ site }) => site)]),
  ].filter((site) => site !== "");
  const unknownPlaces = places.map(here).filter(isUnknown);
  const lost: SecretPlace[] = [];
  /** Values of the mount, or of a site by its name in the archive. */
  const valuesOf = (values: ValueInput, site: string): ValueInput => {
    const siteId = site === "" ? "" : (names.idOf(here(site)) ?? "");
    const known = site === "" ? before?.items : before?.overrides[siteId]?.items;
    const all: Record<string, unknown> = {};
    const set = (item: string, value: unknown): void => {
      const isKnown = ownValue(known, item) !== undefined;
      if (value === undefined && !isKnown) lost.push({ site: siteId, item });
      // Items that servers refresh are newer than the archive. The mask keeps the present value.
      const isNewer = isKnown && itemKind(declared.driver ?? "", item) === "learned";
      setOwn(all, item, isNewer ? MASK : (value ?? MASK));
    };
    for (const [item, value] of Object.entries(values)) set(item, value);
    for (const secret of secrets) if (secret.site === site) set(secret.item, secret.value);
    return all;
  };
  const own = places.flatMap((site): [string, OverrideInput][] => {
    if (isUnknown(here(site))) return [];
    const { path = "", config: few = {}, members = {} } = ownValue(overrides, site) ?? {};
    return [[here(site), { path, config: valuesOf(few, site), members }]];
  });
  const input: MountInput = {
    ...declared,
    config: valuesOf(config, ""),
    sites: typeof sites === "object" ? asked.filter((site) => !isUnknown(site)) : sites,
    overrides: Object.fromEntries(own),
    lost,
    leftOut: [
      ...unknown.map((site) => `sites.${site}`),
      ...unknownPlaces.map((site) => `overrides.${site}`),
    ],
  };
  const hints = [...new Set([...unknown, ...unknownPlaces])].map(
    (site) => names.problemOf(site) ?? "",
  );
  return { input: wholeInput(input, before, names), note: joinTexts(hints.slice(0, MAX_HINTS)) };
}

/**
 * Input that replaces a mount by an entry that a file declares. Values that the entry only names as
 * omitted stay as they are.
 *
 * @param keepsRefreshed whether values that servers refresh stay as well.
 */
export function declaredInput(
  entry: ArchiveEntry,
  before: Mount | undefined,
  { names, keepsRefreshed }: { readonly names: SiteNames; readonly keepsRefreshed: boolean },
): { readonly input: MountInput; readonly problems: readonly EntryProblem[] } {
  const { declared, secrets, problems } = checkEntry(entry);
  const { config = {}, overrides = {}, driver = "" } = declared;
  const newer: string[] = [];
  const lost: SecretPlace[] = [];
  const valuesOf = (values: ValueInput, site: string): ValueInput => {
    const siteId = site === "" ? "" : (names.idOf(site) ?? "");
    const known = site === "" ? before?.items : before?.overrides[siteId]?.items;
    const all: Record<string, unknown> = {};
    const set = (item: string, value: unknown): void => {
      const now = ownValue(known, item);
      if (value === undefined && now === undefined) lost.push({ site: siteId, item });
      const isRefreshed =
        keepsRefreshed && now !== undefined && itemKind(driver, item) === "learned";
      if (isRefreshed && value !== undefined && value !== now) newer.push(item);
      setOwn(all, item, isRefreshed ? MASK : (value ?? MASK));
    };
    for (const [item, value] of Object.entries(values)) set(item, value);
    for (const secret of secrets) if (secret.site === site) set(secret.item, secret.value);
    return all;
  };
  const places = new Set([
    ...Object.keys(overrides),
    ...secrets.flatMap(({ site }) => (site === "" ? [] : [site])),
  ]);
  const input: MountInput = {
    ...declared,
    config: valuesOf(config, ""),
    overrides: Object.fromEntries(
      [...places].map((site): [string, OverrideInput] => {
        const own = ownValue(overrides, site);
        const { path = "", config: few = {}, members = {} } = own ?? {};
        return [site, { path, config: valuesOf(few, site), members }];
      }),
    ),
    lost,
    newer,
  };
  return { input: wholeInput(input, before, names), problems };
}

function textOf({ path, problem }: EntryProblem): Text {
  if (path.length === 0) return problem;
  return message("NAMED_PROBLEM", { name: path.join("."), problem });
}

/** Problem of an entry, by the path of its member. It never quotes a value. */
interface EntryProblem {
  readonly path: readonly string[];
  readonly problem: Text;
}

/** Checks the types of all members. */
function checkEntry({ name, content, secrets, missing }: ArchiveEntry): {
  readonly declared: MountInput;
  readonly secrets: readonly GivenSecret[];
  readonly problems: readonly EntryProblem[];
} {
  const problems: EntryProblem[] = [];
  const declared = readDeclared(name, content, (path, problem) => {
    problems.push({ path, problem });
  });
  const { config = {}, members = {}, overrides = {} } = declared;
  const groups = [
    { place: ["config"], values: config },
    { place: ["members"], values: members },
    ...Object.entries(overrides).flatMap(([site, own]) => [
      { place: ["overrides", site, "config"], values: own.config },
      { place: ["overrides", site, "members"], values: own.members },
    ]),
  ];
  for (const { place, values } of groups)
    for (const [item, value] of Object.entries(values))
      if (!["string", "number", "boolean"].includes(typeof value))
        problems.push({
          path: [...place, item],
          problem: message("BACKUP_MEMBER_INVALID", {
            name: item.slice(0, 64),
            form: message("FORM_SCALAR"),
          }),
        });
  const places = [...Object.keys(secrets), ...missing];
  const given = places.flatMap((place): GivenSecret[] => {
    const found = readSecretName(place);
    if (found !== undefined) return [{ ...found, value: ownValue(secrets, place) }];
    problems.push({
      path: ["secrets"],
      problem: message("BACKUP_SECRET_UNKNOWN", { name: place.slice(0, 64) }),
    });
    return [];
  });
  return { declared, secrets: given, problems };
}
