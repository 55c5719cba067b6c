import type { DriverInfo } from "../drivers/driver-info.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Engine } from "../settings/engine.ts";
import type { RevisionOrigin } from "../settings/store.ts";
import type { Site } from "../sites/site.ts";
import { foundInput, type IsSecret, leaveSite } from "./adopt.ts";
import type { MountInput } from "./input.ts";
import { draftMounts, isOnSite, type Mount } from "./mount.ts";
import { type Result, resultAs, type SaveRules } from "./save.ts";
import type { MountRegistry, MountRequest } from "./site/registry.ts";
import type { MountRound } from "./site/round.ts";
import { type FoundMount, findMounts, takeMounts } from "./site/take.ts";
import type { WantedMount } from "./site/wanted.ts";
import { saveUsable } from "./usable.ts";

export interface AdoptRoundOptions {
  readonly site: Site;
  /** Only these mounts, or paths of new ones; empty: all. */
  readonly names: readonly string[];
  readonly dryRun: boolean;
  readonly origin: RevisionOrigin;
  readonly rules: SaveRules;
  readonly engine: Engine;
  readonly registry: Pick<MountRegistry, "mounts">;
  readonly hash: Fingerprint;
  /** All mounts, by name. */
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly siteNames: readonly string[];
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly isSecret: IsSecret;
  readonly wantedOf: (site: Site) => readonly WantedMount[];
}

/**
 * Adopts the result of a read of a site: mounts that only the site has, those that differ, and
 * deletions, in one revision.
 *
 * @returns the revision with the result for each mount, and the states to be stored by `MountFollow.ask`.
 */
export async function adoptRound(
  round: MountRound,
  options: AdoptRoundOptions,
): Promise<{
  readonly saved: { readonly revision: number; readonly results: readonly Result[] };
  readonly states: MountRequest["states"];
}> {
  const { site, names, dryRun, origin, rules, engine, hash, mounts, siteNames } = options;
  const { driverOf, isSecret, wantedOf } = options;
  const inputOf = (each: FoundMount): MountInput => {
    const before = mounts.get(each.name);
    const isShared =
      before !== undefined && siteNames.some((one) => one !== site.name && isOnSite(before, one));
    return foundInput(each, site.name, each.isNew ? undefined : before, isShared);
  };
  const known = options.registry.mounts(site.id);
  const found = findMounts(round, {
    ...{ names, known, driverOf, wanted: wantedOf(site), taken: [...mounts.keys()] },
  });
  const skipped = found.refused.map(({ path, reason }) => resultAs(path, "skipped", reason));
  let saved: { revision: number; results: readonly Result[] } = {
    ...{ revision: engine.snapshot().revision, results: [] },
  };
  const take = async (): Promise<readonly WantedMount[]> => {
    const { result, revision } = await engine.change(
      origin,
      async (draft) => {
        const inputs = found.mounts.map(inputOf);
        const results = await saveUsable(draft, inputs, draftMounts(draft), rules);
        const gone = found.gone.flatMap((each) => {
          const file = rules.managedBy(each);
          return file === undefined
            ? leaveSite(draft, each, { site: site.name, siteNames, isSecret })
            : [resultAs(each, "skipped", message("MANAGED_BY_FILE", { file }))];
        });
        return [...results, ...gone];
      },
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
  else states = await takeMounts(found, { known, hash, save: take });
  return { saved: { ...saved, results: [...saved.results, ...skipped] }, states };
}
