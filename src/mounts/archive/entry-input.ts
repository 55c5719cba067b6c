import type { ArchiveEntry } from "../../archive/part.ts";
import { joinTexts, message, type Text } from "../../messages/message.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import type { SecretPlace } from "../../records/secret-place.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { type MountInput, type OverrideInput, type ValueInput, wholeInput } from "../input.ts";
import type { Mount } from "../mount.ts";
import { checkEntry, type EntryProblem, type GivenSecret } from "./check-entry.ts";
import { isRefreshedHere } from "./refreshed.ts";

/** Maximum number of unknown sites in a note. */
const MAX_HINTS = 5;

interface ArchiveOptions {
  readonly names: SiteNames;
  /** Names of sites here, by their names in the archive. */
  readonly renamed: ReadonlyMap<string, string>;
  /** Whether the caller may learn if a secret differs from the one here. */
  readonly reveals: boolean;
}

/**
 * Input that replaces a mount by an entry of an archive, or the reason for which the entry is skipped.
 * Values that the archive lacks stay as they are, as do values that servers refresh. Sites that do not
 * exist here are left out, unless the entry names no other.
 *
 * @param before the mount with this name; undefined: none.
 */
export function entryToInput(
  entry: ArchiveEntry,
  before: Mount | undefined,
  { names, renamed, reveals }: ArchiveOptions,
): { readonly input: MountInput; readonly note: Text } | { readonly reason: Text } {
  const { declared, secrets, problems } = checkEntry(entry);
  const [problem] = problems;
  if (problem !== undefined) return { reason: textOf(problem) };
  const nameHere = (site: string): string => renamed.get(site) ?? site;
  const isUnknown = (site: string): boolean => names.idOf(site) === undefined;

  const { sites, config = {}, overrides = {} } = declared;
  const chosen = typeof sites === "object" ? sites.map(nameHere) : [];
  const unknown = chosen.filter(isUnknown);
  const [firstUnknown] = unknown;
  if (firstUnknown !== undefined && unknown.length === chosen.length)
    return { reason: names.problemOf(firstUnknown) ?? "" };

  const values = new EntryValues(before, {
    secrets,
    driver: declared.driver ?? "",
    idOf: (site) => names.idOf(nameHere(site)),
    keepsRefreshed: true,
    reveals,
  });
  const places = overriddenSites(overrides, secrets);
  const unknownPlaces = places.map(nameHere).filter(isUnknown);
  // Before the values of the mount, as `mountToEntry` does: lost secrets keep their order.
  const overridesHere = places
    .filter((site) => !isUnknown(nameHere(site)))
    .map((site) => [nameHere(site), overrideOf(overrides, site, values)] as const);
  const input: MountInput = {
    ...declared,
    config: values.of(config, ""),
    sites: typeof sites === "object" ? chosen.filter((site) => !isUnknown(site)) : sites,
    overrides: Object.fromEntries(overridesHere),
    lost: values.lost,
    newer: values.newer,
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

interface DeclaredOptions {
  readonly names: SiteNames;
  /** Whether values that servers refresh stay as they are. */
  readonly keepsRefreshed: boolean;
  /** Whether the caller may learn if a secret differs from the one here. */
  readonly reveals: boolean;
}

/**
 * Input that replaces a mount by an entry that a file declares. Values that the entry only names as
 * omitted stay as they are.
 *
 * @param before the mount with this name; undefined: none.
 */
export function declaredInput(
  entry: ArchiveEntry,
  before: Mount | undefined,
  { names, keepsRefreshed, reveals }: DeclaredOptions,
): { readonly input: MountInput; readonly problems: readonly EntryProblem[] } {
  const { declared, secrets, problems } = checkEntry(entry);
  const { config = {}, overrides = {}, driver = "" } = declared;
  const values = new EntryValues(before, {
    secrets,
    driver,
    idOf: names.idOf,
    keepsRefreshed,
    reveals,
  });
  const input: MountInput = {
    ...declared,
    config: values.of(config, ""),
    overrides: Object.fromEntries(
      overriddenSites(overrides, secrets).map((site) => [
        site,
        overrideOf(overrides, site, values),
      ]),
    ),
    lost: values.lost,
    newer: values.newer,
  };
  return { input: wholeInput(input, before, names), problems };
}

type Overrides = Readonly<Record<string, OverrideInput>>;

/** Names of the sites for which an entry has values or secrets. */
function overriddenSites(overrides: Overrides, secrets: readonly GivenSecret[]): string[] {
  const names = new Set([...Object.keys(overrides), ...secrets.map(({ site }) => site)]);
  return [...names].filter((site) => site !== "");
}

function overrideOf(overrides: Overrides, site: string, values: EntryValues): OverrideInput {
  const { path = "", config = {}, members = {} } = ownValue(overrides, site) ?? {};
  return { path, config: values.of(config, site), members };
}

interface EntryValuesOptions {
  readonly secrets: readonly GivenSecret[];
  readonly driver: string;
  /** Id of a site by its name in the entry; undefined: it does not exist here. */
  readonly idOf: (site: string) => string | undefined;
  readonly keepsRefreshed: boolean;
  readonly reveals: boolean;
}

/** Joins the values of an entry with its secrets. The mask stands for a value that stays as it is. */
class EntryValues {
  /** Secrets without a value, neither in the entry nor here. */
  readonly lost: SecretPlace[] = [];
  /** Items of the entry that stay as they are here, because servers refresh them. */
  readonly newer: string[] = [];
  readonly #before: Mount | undefined;
  readonly #options: EntryValuesOptions;

  constructor(before: Mount | undefined, options: EntryValuesOptions) {
    this.#before = before;
    this.#options = options;
  }

  /** @param site name of a site in the entry; empty: the mount itself. */
  of(values: ValueInput, site: string): ValueInput {
    const { secrets, driver, idOf, keepsRefreshed, reveals } = this.#options;
    const siteId = site === "" ? "" : (idOf(site) ?? "");
    const before = this.#before;
    const stored = site === "" ? before?.items : before?.overrides[siteId]?.items;
    const ofSite = secrets.filter((secret) => secret.site === site);
    const given: readonly (readonly [string, unknown])[] = [
      ...Object.entries(values),
      ...ofSite.map(({ item, value }) => [item, value] as const),
    ];
    const joined: Record<string, unknown> = {};
    for (const [item, value] of given) {
      const now = ownValue(stored, item);
      if (value === undefined && now === undefined) this.lost.push({ site: siteId, item });
      const stays = keepsRefreshed && isRefreshedHere(driver, item, stored);
      // Without the right to reveal, a note must not show whether the value is a right guess.
      if (stays && value !== undefined && (value !== now || !reveals)) this.newer.push(item);
      setOwn(joined, item, stays ? MASK : (value ?? MASK));
    }
    return joined;
  }
}

function textOf({ path, problem }: EntryProblem): Text {
  if (path.length === 0) return problem;
  return message("NAMED_PROBLEM", { name: path.join("."), problem });
}
