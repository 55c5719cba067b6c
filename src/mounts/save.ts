import { Code } from "@connectrpc/connect";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import { failedPrecondition, invalid, ServiceError, type Violation } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { joinTexts, message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import type { RecordEtag } from "../records/etag.ts";
import { MAX_RECORDS } from "../records/limit.ts";
import { findClash } from "../sites/path-index.ts";
import { isOnSite, pathsOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks } from "../ticks.ts";
import { blindAfter } from "./blind.ts";
import { redirectedSecrets } from "./destination.ts";
import { type CheckedMount, type MountInput, withMountInput } from "./input.ts";
import { MOUNTS } from "./kind.ts";
import { type Mount, type MountIndex, wantedOn } from "./mount.ts";
import { itemKind, sharedCredentials } from "./site/item-kind.ts";
import { familyWarnings, type SiteFamily } from "./site-family.ts";

/** Maximum number of violations in a reply. */
const MAX_VIOLATIONS = 100;

export interface SaveRules {
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  readonly etagOf: RecordEtag<Mount>;
  /** All sites. */
  readonly sites: SiteNames;
  /** Detected families of all sites. */
  readonly families: readonly SiteFamily[];
  /** Reports whether the caller may see and change a mount at a path. */
  readonly allows: (path: string) => boolean;
  /** Throws PERMISSION_DENIED. */
  readonly refuse: () => never;
  /** Reports whether the caller may read secrets. */
  readonly reveals: boolean;
  /** Source that manages a mount, such as a file; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  readonly allowShared: boolean;
  /** Whether the values were adopted from a site, so that its credentials are not sent to it. */
  readonly isAdopted: boolean;
  /**
   * Whether the values come from a site, a document or another mount: they are taken as they are,
   * and problems are in the note of the result.
   */
  readonly carries?: boolean;
  readonly isDry: boolean;
}

/**
 * Applies a save to a draft: all mounts or none. A single mount that is rejected leaves the draft
 * unchanged.
 *
 * @param mounts all mounts of the draft, by name; updated.
 * @throws INVALID_ARGUMENT with every violation; ABORTED; FAILED_PRECONDITION; PERMISSION_DENIED.
 */
export async function decideSave(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const violations: Violation[] = [];
  const names = new Set<string>();
  const saved: SavedMount[] = [];
  for (const [number, input] of inputs.entries()) {
    if (ticks.isDue()) await ticks.next();
    const field = `mounts[${number}].`;
    const before = mounts.get(input.name);
    if (before !== undefined && !pathsOf(before).every(rules.allows)) rules.refuse();
    checkManaged(input.name, rules.managedBy(input.name));
    if (names.has(input.name))
      violations.push({
        field: `${field}name`,
        description: message("MOUNT_REPEATED", { field: `${field}name`, name: input.name }),
      });
    names.add(input.name);
    checkExpected(before, input, rules.etagOf);
    const checked = withMountInput(before, input, { ...rules, field });
    violations.push(...checked.violations);
    if (checked.violations.length > 0) continue;
    for (const path of pathsOf(checked.mount)) if (!rules.allows(path)) rules.refuse();
    const redirected = redirectedOf(before, checked, field, rules);
    violations.push(...redirected);
    if (redirected.length > 0) continue;
    const given = rules.reveals ? [] : checked.given;
    const isLearned = ({ item, site }: (typeof checked.given)[number]): boolean =>
      itemKind(checked.mount.driver, item) === "learned" &&
      (!rules.reveals || itemOn(before, item, site) !== itemOn(checked.mount, item, site));
    const renewed = rules.isAdopted ? [] : checked.given.filter(isLearned);
    const mount = withBlind(
      withCredential(checked.mount, new Set(renewed.map(({ site }) => site)), draft),
      checked.given,
      rules.reveals || rules.isAdopted ? undefined : draft.revision + 1,
    );
    mounts.set(mount.name, mount);
    saved.push({
      before,
      mount,
      number,
      given,
      sent: checked.given,
      warnings: checked.warnings,
    });
  }
  const taken: Violation[] = [];
  for (const each of saved) {
    if (ticks.isDue()) await ticks.next();
    taken.push(...pathViolations(each, mounts, rules));
  }
  const [first, ...rest] = [...violations, ...taken].slice(0, MAX_VIOLATIONS);
  if (first !== undefined) throw invalid([first, ...rest]);
  if (mounts.size > MAX_RECORDS)
    throw new ServiceError(
      Code.ResourceExhausted,
      message("TOO_MANY_MOUNTS", { count: mounts.size, most: MAX_RECORDS }),
    );
  const results: RecordResult[] = [];
  for (const each of saved) {
    if (ticks.isDue()) await ticks.next();
    const { mount, given } = each;
    const note = joinTexts([
      noteOf(each, rules),
      warningOf(each),
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

interface SavedMount {
  readonly before: Mount | undefined;
  readonly mount: Mount;
  /** Index of the mount in messages. */
  readonly number: number;
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
function noteOf({ before, mount, sent }: SavedMount, rules: SaveRules): Text {
  const shared = sharedItems(mount, rules, sent);
  const wasShared = before === undefined ? [] : sharedItems(before, rules, []);
  const isNew = shared.some((item) => !wasShared.includes(item)) || isRenewed(before, mount);
  if (shared.length === 0 || !isNew) return "";
  const note = message("CREDENTIAL_SHARED", { items: shared.join(", ") });
  if (rules.allowShared || rules.isDry) return note;
  throw failedPrecondition(message("CREDENTIAL_SHARED_HINT", { name: mount.name, problem: note }));
}

/** Maximum number of problems in a note. */
const MAX_WARNINGS = 10;

function warningOf({ warnings }: SavedMount): Text {
  if (warnings.length === 0) return "";
  return message("TAKEN_AS_IT_IS", { problems: joinTexts(warnings.slice(0, MAX_WARNINGS)) });
}

function resultOf(
  { before, mount, given }: SavedMount,
  note: Text,
  isChanged: boolean,
  { nameOf }: SiteNames,
): RecordResult {
  const { name } = mount;
  if (before === undefined) return { name, outcome: "created", note, differs: [] };
  if (!isChanged) return { name, outcome: "unchanged", note, differs: [] };
  const names = given.map(({ item, site }) =>
    site === undefined ? item : `overrides.${nameOf(site)}`,
  );
  const differs = changedNames(before, mount, { nameOf, given: new Set(names) });
  return { name, outcome: "changed", note, differs, isGuess: given.length > 0 };
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
  { sites: known, reveals }: Pick<SaveRules, "sites" | "reveals">,
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

function withBlind(
  mount: Mount,
  given: CheckedMount["given"],
  revision: number | undefined,
): Mount {
  const { blind: before, ...rest } = mount;
  const blind = blindAfter(before, given, revision);
  return blind.length === 0 ? rest : { ...rest, blind };
}

/** Records the sites for which a user has given a credential, which is sent to them once. */
function withCredential(
  mount: Mount,
  sites: ReadonlySet<string | undefined>,
  { revision }: Pick<Draft, "revision">,
): Mount {
  const credentialRevision = revision + 1;
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

function checkExpected(
  before: Mount | undefined,
  { name, expectedEtag }: MountInput,
  etagOf: RecordEtag<Mount>,
): void {
  if (expectedEtag === undefined || expectedEtag === etagOf(before)) return;
  if (before === undefined)
    throw new ServiceError(Code.Aborted, message("MOUNT_DELETED", { name }));
  if (expectedEtag === NO_RECORD)
    throw new ServiceError(Code.AlreadyExists, message("MOUNT_EXISTS", { name }));
  const expected = expectedEtag.slice(0, 60);
  throw new ServiceError(
    Code.Aborted,
    message("MOUNT_CHANGED", { name, revision: before.revision, expected }),
  );
}

/** Violations for mounts with the same path on one site. */
function pathViolations(
  { mount, number }: SavedMount,
  mounts: MountIndex,
  { sites, allows }: SaveRules,
): Violation[] {
  const clash = findClash(mount.name, mount, mounts, sites.ids);
  if (clash === undefined) return [];
  const whose = pathsOf(clash.other).every(allows)
    ? message("THE_MOUNT", { name: clash.other.name })
    : message("ANOTHER_MOUNT");
  const where =
    clash.site === undefined ? "" : message("ON_SITE", { site: sites.nameOf(clash.site) });
  const field = `mounts[${number}].mount_path`;
  return [{ field, description: message("PATH_OF_ANOTHER", { field, whose, where }) }];
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
