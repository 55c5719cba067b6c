import type { DriverInfo } from "../drivers/driver-info.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { withEffects } from "../records/effect.ts";
import { removeAllFromSite } from "../records/leave.ts";
import { saveEach } from "../records/save-each.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import { effectsOf, type RunningSite } from "./effect.ts";
import { foundInput } from "./found-input.ts";
import type { MountInput } from "./input.ts";
import { MOUNTS, SITE_MOUNTS } from "./kind.ts";
import type { Mount, Values } from "./mount.ts";
import type { SaveRules } from "./save.ts";
import { mountSaver, skippedName } from "./saver.ts";
import { adoptMountsOf, type FoundMount, findMounts } from "./site/adoption.ts";
import type { MountRegistry, MountRequest } from "./site/registry.ts";
import type { MountRound } from "./site/round.ts";
import type { WantedMount } from "./site/row.ts";

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
