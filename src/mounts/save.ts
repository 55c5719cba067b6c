import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { failedPrecondition, type Violation } from "../messages/error.ts";
import { joinTexts, message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { type CheckedRecord, SaveCheck, savedResult, warningNote } from "../records/save-check.ts";
import type { RecordSaveRules } from "../records/save-rules.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks } from "../ticks.ts";
import { blindAfter } from "./blind.ts";
import { redirectedSecrets } from "./destination.ts";
import { type CheckedMount, type MountInput, withMountInput } from "./input.ts";
import { MOUNTS, SITE_MOUNTS } from "./kind.ts";
import { type Mount, type MountIndex, wantedOn } from "./mount.ts";
import { itemKind, sharedCredentials } from "./site/item-kind.ts";
import { familyWarnings, type SiteFamily } from "./site-family.ts";

/** Rules of a save of mounts. */
export interface SaveRules extends RecordSaveRules<Mount> {
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  /** Detected families of all sites. */
  readonly families: readonly SiteFamily[];
  readonly allowShared: boolean;
  readonly isDry: boolean;
}

/**
 * Applies a save to a draft: all mounts or none. A single mount that is rejected leaves the draft
 * unchanged.
 *
 * @param mounts all mounts of the draft, by name; updated.
 * @throws INVALID_ARGUMENT with every violation; ABORTED; ALREADY_EXISTS; FAILED_PRECONDITION;
 *   PERMISSION_DENIED; RESOURCE_EXHAUSTED.
 */
export async function decideSave(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const check = new SaveCheck(SITE_MOUNTS, mounts, rules);
  const saved: SavedMount[] = [];
  for (const [number, input] of inputs.entries()) {
    if (ticks.isDue()) await ticks.next();
    const field = `mounts[${number}].`;
    const before = check.before(number, input.name, input.expectedEtag);
    const checked = withMountInput(before, input, { ...rules, field });
    if (!check.accepts(checked.violations)) continue;
    check.requireAllowed(checked.mount);
    if (!check.accepts(redirectedOf(before, checked, field, rules))) continue;
    const { given: sent, warnings } = checked;
    const mount = withGivenSecrets(before, checked, draft.revision + 1, rules);
    mounts.set(mount.name, mount);
    saved.push({ before, record: mount, number, given: rules.reveals ? [] : sent, sent, warnings });
  }
  await check.finish(saved);
  const results: RecordResult[] = [];
  for (const each of saved) {
    if (ticks.isDue()) await ticks.next();
    const { record: mount, given } = each;
    const note = joinTexts([
      sharedNote(each, rules),
      warningNote(each.warnings),
      ...familyWarnings(mount, rules.driverOf(mount.driver), rules.families),
    ]);
    const isChanged = draft.put(MOUNTS, mount, given.length > 0);
    results.push(resultOf(each, note, isChanged, rules.sites));
  }
  return results;
}

/**
 * Violations for secrets that the caller may not read and that would reach another destination. A
 * site's own values are no such change: the site has the secrets.
 */
export function redirectedOf(
  before: Mount | undefined,
  { mount, given }: Pick<CheckedMount, "mount" | "given">,
  field: string,
  {
    driverOf,
    sites,
    reveals,
    isAdopted,
  }: Pick<SaveRules, "driverOf" | "reveals" | "isAdopted"> & {
    readonly sites: Pick<SiteNames, "ids" | "nameOf">;
  },
): Violation[] {
  const driver = driverOf(mount.driver);
  if (before === undefined || driver === undefined || reveals || isAdopted) return [];
  return redirectedSecrets({ before, mount, given }, { driver, sites, field });
}

interface SavedMount extends CheckedRecord<Mount> {
  readonly before: Mount | undefined;
  /**
   * Secret items that always count as changed: the caller must not learn whether one equals the sent
   * value.
   */
  readonly given: CheckedMount["given"];
  /** Secret items that the client sent. */
  readonly sent: CheckedMount["given"];
  readonly warnings: CheckedMount["warnings"];
}

/** @throws FAILED_PRECONDITION for a credential that several sites would share, unless allowed. */
function sharedNote({ before, record: mount, sent }: SavedMount, rules: SaveRules): Text {
  const note = newlySharedNote(before, mount, rules, sent);
  if (note === "" || rules.allowShared || rules.isDry) return note;
  throw failedPrecondition(message("CREDENTIAL_SHARED_HINT", { name: mount.name, problem: note }));
}

/**
 * Note that names credentials which several sites share after a change; empty: none, or as before.
 *
 * @param before undefined: the mount is new. @param sent items that the client sent.
 */
export function newlySharedNote(
  before: Mount | undefined,
  mount: Mount,
  rules: SharingRules,
  sent: CheckedMount["given"] = [],
): Text {
  const shared = sharedItems(mount, rules, sent);
  const wasShared = before === undefined ? [] : sharedItems(before, rules, []);
  const isNew = shared.some((item) => !wasShared.includes(item)) || isRenewed(before, mount);
  if (shared.length === 0 || !isNew) return "";
  return message("CREDENTIAL_SHARED", { items: shared.join(", ") });
}

interface SharingRules extends Pick<SaveRules, "reveals"> {
  readonly sites: Pick<SiteNames, "ids">;
}

function resultOf(
  { before, record: mount, given }: SavedMount,
  note: Text,
  isChanged: boolean,
  { nameOf }: SiteNames,
): RecordResult {
  const differsFrom = (known: Mount): string[] => {
    const names = given.map(({ item, site }) =>
      site === undefined ? item : `overrides.${nameOf(site)}`,
    );
    return changedNames(known, mount, { nameOf, given: new Set(names) });
  };
  const result = savedResult(mount.name, note, before, isChanged, differsFrom);
  return result.outcome === "changed" ? { ...result, isGuess: given.length > 0 } : result;
}

/**
 * Credentials that several sites of a mount would share. Without `mounts:reveal`, stored values are
 * not compared with other values, which would reveal whether a sent value is right: sites share a
 * value if it comes from the same member.
 *
 * @param sent items that the client sent; sent values are compared with each other.
 */
function sharedItems(
  mount: Mount,
  { sites: known, reveals }: SharingRules,
  sent: CheckedMount["given"],
): string[] {
  const sites = known.ids.filter((id) => isOnSite(mount, id));
  if (sites.length < 2) return [];
  const placeOf = (site: string, item: string, value: Scalar): Scalar => {
    const isOwn = Object.hasOwn(mount.overrides[site]?.items ?? {}, item);
    const place = isOwn ? site : undefined;
    if (value === "" || sent.some((each) => each.item === item && each.site === place))
      return value;
    return isOwn ? `\0${site}` : "\0";
  };
  return sharedCredentials(
    mount.driver,
    sites.map((site) => {
      const { items } = wantedOn(mount, site);
      if (reveals) return items;
      return Object.fromEntries(
        Object.entries(items).map(([item, value]) => [item, placeOf(site, item, value)]),
      );
    }),
  );
}

function isRenewed(before: Mount | undefined, mount: Mount): boolean {
  return (
    before === undefined ||
    before.credentialRevision !== mount.credentialRevision ||
    Object.entries(mount.overrides).some(
      ([site, { credentialRevision }]) =>
        before.overrides[site]?.credentialRevision !== credentialRevision,
    )
  );
}

/**
 * The mount with the revisions of the secrets that the client gave.
 *
 * @param revision of the save.
 */
function withGivenSecrets(
  before: Mount | undefined,
  { mount, given }: CheckedMount,
  revision: number,
  { reveals, isAdopted }: Pick<SaveRules, "reveals" | "isAdopted">,
): Mount {
  const isRenewed = ({ item, site }: CheckedMount["given"][number]): boolean =>
    itemKind(mount.driver, item) === "learned" &&
    (!reveals || itemOn(before, item, site) !== itemOn(mount, item, site));
  const renewed = isAdopted ? [] : given.filter(isRenewed);
  const sites = new Set(renewed.map(({ site }) => site));
  const { blind: known, ...rest } = withCredential(mount, sites, revision);
  const blind = blindAfter(known, given, reveals || isAdopted ? undefined : revision);
  return blind.length === 0 ? rest : { ...rest, blind };
}

/** Records the sites for which a user has given a credential, which is sent to them once. */
function withCredential(
  mount: Mount,
  sites: ReadonlySet<string | undefined>,
  credentialRevision: number,
): Mount {
  return {
    ...mount,
    ...(sites.has(undefined) && { credentialRevision }),
    overrides: Object.fromEntries(
      Object.entries(mount.overrides).map(([site, override]) => [
        site,
        sites.has(site) ? { ...override, credentialRevision } : override,
      ]),
    ),
  };
}

function itemOn(mount: Mount | undefined, item: string, site: string | undefined): unknown {
  return ownValue(site === undefined ? mount?.items : mount?.overrides[site]?.items, item);
}

/**
 * Names of the members that differ between two states of a mount, without values.
 *
 * @param options.nameOf names of sites by their ids.
 * @param options.given names that always count as different.
 */
export function changedNames(
  before: Mount,
  after: Mount,
  {
    nameOf,
    given = new Set(),
  }: { readonly nameOf: SiteNames["nameOf"]; readonly given?: ReadonlySet<string> },
): string[] {
  const names: string[] = [];
  const compare = (name: string, a: unknown, b: unknown): void => {
    if (given.has(name) || JSON.stringify(a) !== JSON.stringify(b)) names.push(name);
  };
  compare("mount_path", before.path, after.path);
  compare("disabled", before.disabled, after.disabled);
  compare("content", before.content, after.content);
  compare("sites", before.siteIds, after.siteIds);
  for (const group of ["items", "members"] as const)
    for (const name of new Set([...Object.keys(before[group]), ...Object.keys(after[group])]))
      compare(name, ownValue(before[group], name), ownValue(after[group], name));
  for (const site of new Set([...Object.keys(before.overrides), ...Object.keys(after.overrides)]))
    compare(
      `overrides.${nameOf(site)}`,
      valuesOf(before.overrides[site]),
      valuesOf(after.overrides[site]),
    );
  return names;
}

function valuesOf(override: Mount["overrides"][string] | undefined): unknown {
  return override && [override.path, override.items, override.members];
}
