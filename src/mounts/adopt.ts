import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { message } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { withEffects } from "../records/effect.ts";
import type { RecordEtag } from "../records/etag.ts";
import { removeAllFromSite } from "../records/leave.ts";
import { saveEach } from "../records/save-each.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import { effectsOf, type RunningSite } from "./effect.ts";
import type { MountInput } from "./input.ts";
import { MOUNTS, SITE_MOUNTS } from "./kind.ts";
import { type Mount, missingOn, type Values, wantedOn } from "./mount.ts";
import type { SaveRules } from "./save.ts";
import { mountSaver, skippedName } from "./saver.ts";
import { adoptMountsOf, type FoundMount, findMounts } from "./site/adoption.ts";
import { itemKind } from "./site/item-kind.ts";
import type { MountRegistry, MountRequest } from "./site/registry.ts";
import type { MountRound } from "./site/round.ts";
import { plainValue, type WantedMount } from "./site/row.ts";
import { type MountState, NEW_MOUNT } from "./site/state.ts";

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

/** Adopts content that users have edited on a site, if the mount's policy is `adopt`. */
export function adoptContent(
  draft: Draft,
  {
    name,
    siteId,
    items,
  }: {
    readonly name: string;
    readonly siteId: string;
    readonly items: Values;
  },
): void {
  const mount = draft.get(MOUNTS, name);
  if (mount === undefined || mount.content !== "adopt") return;
  const own = mount.overrides[siteId];
  const isOwn = ([item]: readonly [string, unknown]): boolean =>
    own !== undefined && Object.hasOwn(own.items, item);
  const all = Object.entries(items);
  const mine = Object.fromEntries(all.filter(isOwn));
  const common = Object.fromEntries(all.filter((entry) => !isOwn(entry)));
  const overrides =
    own === undefined
      ? mount.overrides
      : { ...mount.overrides, [siteId]: { ...own, items: { ...own.items, ...mine } } };
  draft.put(MOUNTS, { ...mount, items: { ...mount.items, ...common }, overrides });
}

/** Plan of a sync: steps to take, and mounts to leave unchanged. */
export function compareResults(
  round: MountRound,
  site: Pick<Site, "name">,
  wanted: readonly WantedMount[],
  known: ReadonlyMap<string, MountState>,
): readonly RecordResult[] {
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  const mine = wanted.map((mount): RecordResult => {
    const state = ownValue(round.states, mount.name) ?? known.get(mount.name) ?? NEW_MOUNT;
    const isThere = byId.has(state.id) && !state.absent;
    const { differs, error } = state;
    if (mount.missing.length > 0) return resultAs(mount.name, "skipped", error);
    if (!isThere) return { name: mount.name, outcome: "created", note: error, differs: [] };
    if (differs.length === 0)
      return { name: mount.name, outcome: "unchanged", note: error, differs };
    const action = mount.disabled && differs.includes("disabled") ? "disable" : "remount";
    const effects = [{ action, site: site.name, kind: "mount", path: state.path } as const];
    return { name: mount.name, outcome: "changed", note: error, differs, effects };
  });
  const gone = Object.entries(round.states).flatMap(([name, state]): RecordResult[] => {
    if (names.has(name) || state === undefined || !byId.has(state.id)) return [];
    const effects = [
      { action: "remove", site: site.name, kind: "mount", path: state.path } as const,
    ];
    return [{ ...resultAs(name, "deleted", ""), effects }];
  });
  const extra = round.extra.map(({ path }) => resultAs(path, "skipped", message("ONLY_AT_SITE")));
  return [...mine, ...gone, ...extra];
}

export interface AdoptRoundOptions {
  readonly site: Site;
  /** Only these mounts, or paths of new ones; empty: all. */
  readonly names: readonly string[];
  readonly dryRun: boolean;
  readonly origin: RevisionOrigin;
  readonly rules: SaveRules;
  readonly ledger: Ledger;
  readonly registry: Pick<MountRegistry, "records">;
  readonly hash: Fingerprint;
  /** All mounts, by name. */
  readonly mounts: ReadonlyMap<string, Mount>;
  /** Other sites whose mounts are written to their servers. */
  readonly others: readonly RunningSite[];
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly wantedOf: (site: Site) => readonly WantedMount[];
}

/**
 * Adopts the result of a read of a site: mounts that only the site has, those that differ, and
 * deletions, in one revision.
 *
 * @returns the revision with the result for each mount, and the states to be stored by `MountSync.request`.
 */
export async function adoptRound(
  round: MountRound,
  options: AdoptRoundOptions,
): Promise<{
  readonly saved: { readonly revision: number; readonly results: readonly RecordResult[] };
  readonly states: MountRequest["states"];
}> {
  const { site, names, dryRun, origin, rules, ledger, hash, mounts } = options;
  const { driverOf, wantedOf } = options;
  const inputOf = (each: FoundMount): MountInput => {
    const before = mounts.get(each.name);
    const isShared =
      before !== undefined &&
      rules.sites.ids.some((one) => one !== site.id && isOnSite(before, one));
    return foundInput(each, site, each.isNew ? undefined : before, {
      isShared,
      etagOf: rules.etagOf,
    });
  };
  const known = options.registry.records(site.id);
  const found = findMounts(round, {
    names,
    known,
    driverOf,
    wanted: wantedOf(site),
    taken: [...mounts.keys()],
  });
  const skipped = found.refused.map(({ path, reason }) => resultAs(path, "skipped", reason));
  let saved: { revision: number; results: readonly RecordResult[] } = {
    revision: ledger.snapshot().revision,
    results: [],
  };
  const take = async (): Promise<readonly WantedMount[]> => {
    const { result, revision } = await ledger.change(
      origin,
      withEffects(
        SITE_MOUNTS,
        (change) => effectsOf(change, options.others),
        async (draft, all) => {
          const inputs = found.mounts.map(inputOf);
          const results = await saveEach(
            SITE_MOUNTS,
            mountSaver(draft, rules),
            inputs,
            all,
            skippedName,
          );
          const place = { siteId: site.id, sites: rules.sites, managedBy: rules.managedBy };
          return [...results, ...removeAllFromSite(draft, SITE_MOUNTS, found.gone, place)];
        },
      ),
      { dryRun },
    );
    saved = { revision, results: result };
    const taken = new Set(
      result.flatMap(({ name, outcome }) => (outcome === "skipped" ? [] : [name])),
    );
    return wantedOf(site).filter(({ name }) => taken.has(name));
  };
  let states: MountRequest["states"] = {};
  if (dryRun) await take();
  else states = await adoptMountsOf(found, { known, hash, save: take });
  return { saved: { ...saved, results: [...saved.results, ...skipped] }, states };
}
