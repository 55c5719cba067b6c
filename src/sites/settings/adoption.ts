import type { Ledger } from "../../ledger/ledger.ts";
import type { RevisionOrigin } from "../../ledger/store.ts";
import { message } from "../../messages/message.ts";
import { setOwn } from "../../own-value.ts";
import { SETTINGS } from "../../settings/kind.ts";
import type { SiteRegistry } from "../registry.ts";
import type { Site, SiteState } from "../site.ts";
import type { SiteEvent } from "../store.ts";
import { type Adopted, adopt } from "./adopt.ts";
import type { Comparison } from "./compare.ts";
import type { SettingJob, SettingSync } from "./sync.ts";

/** Result of adopting a site's values. */
export interface Adoption {
  readonly revision: number;
  readonly results: readonly Adopted[];
}

export interface AdoptDeps {
  readonly registry: SiteRegistry;
  readonly settings: Pick<SettingSync, "exclusive">;
  readonly ledger: Ledger;
  readonly managedBy: (key: string) => string | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly now: () => number;
  readonly onEvent: (site: Site, event: SiteEvent) => void;
}

export interface AdoptOptions {
  /** Empty: all. */
  readonly keys: readonly string[];
  readonly dryRun: boolean;
  readonly origin: RevisionOrigin;
  /** Whether the caller may read secrets. Default: true. */
  readonly reveals?: boolean;
  /** Whether to adopt only changes made on the site, not values that are still to be pushed. */
  readonly onlyDrifted?: boolean;
  /** Checks the right of the caller after the site was read. @throws UNAUTHENTICATED. Default: no-op. */
  readonly renew?: (() => Promise<void>) | undefined;
}

/** Adopts a site's values, after earlier work on the site. */
export function adoptValues(deps: AdoptDeps, site: Site, options: AdoptOptions): Promise<Adoption> {
  return deps.settings.exclusive(site.id, (job) => adoptValuesIn(job, deps, options));
}

/** Like adoptValues, for a caller that already has exclusive access to the site. */
export async function adoptValuesIn(
  { site, round }: SettingJob,
  deps: Omit<AdoptDeps, "settings">,
  options: AdoptOptions,
): Promise<Adoption> {
  const { registry, ledger, managedBy, maxValueBytes } = deps;
  const { keys, dryRun, origin, reveals = true, onlyDrifted = false } = options;
  const base = ledger.snapshot();
  const { comparisons } = await round({ aim: "read", actor: origin.actor });
  await options.renew?.();
  const requested = new Set(keys);
  const isRequested = ({ key, row, overridden }: Comparison): boolean =>
    row !== undefined && !overridden && (requested.size === 0 || requested.has(key));
  // A caller who may not read secrets must not see which of them differ: all are named.
  const withheld = reveals
    ? []
    : comparisons
        .filter((one) => one.secret && isRequested(one))
        .map(
          ({ key }): Adopted => ({
            key,
            outcome: "skipped",
            reason: message("SCOPE_MISSING", { scope: "settings:reveal" }),
          }),
        );
  const wanted = comparisons.filter(
    ({ key, sync, drifted, secret }) =>
      (reveals || !secret) &&
      (sync === "extra" || isDifferent(sync)) &&
      (requested.size === 0 || requested.has(key)) &&
      (!onlyDrifted || drifted || sync === "extra"),
  );
  const { result, revision } = await adopt(wanted, {
    ledger,
    base,
    managedBy,
    maxValueBytes,
    origin,
    dryRun,
    reveals,
  });
  const results = [...result, ...withheld];
  if (dryRun) return { revision, results };
  const skipped = result.some(({ outcome }) => outcome === "skipped");
  const isWhole = keys.length === 0 && !onlyDrifted && withheld.length === 0;
  for (let tries = 0; tries < 3; tries += 1) {
    const before = registry.state(site.id);
    const held = { ...before.held };
    for (const { key, outcome, reason } of result)
      if (outcome === "refused")
        setOwn(held, key, { revision: base.get(SETTINGS, key)?.revision ?? 0, reason });
      else delete held[key];
    const done = result.filter(({ outcome }) => outcome === "changed" || outcome === "added");
    const event: SiteEvent = {
      time: deps.now(),
      actor: origin.actor,
      action: "adopt",
      revision,
      keys: done.map(({ key }) => key),
      result: message("TAKEN_AND_LEFT", { taken: done.length, left: result.length - done.length }),
    };
    const state: SiteState = {
      ...before,
      held,
      drift: before.drift.filter((key) => !result.some((each) => each.key === key)),
      refused: {},
      corrections: {},
      appliedRevision: isWhole ? (skipped ? base.revision : revision) : before.appliedRevision,
    };
    if (!(await registry.record(site.id, state, result.length === 0 ? [] : [event]))) continue;
    if (result.length > 0) deps.onEvent(site, event);
    break;
  }
  return { revision, results };
}

function isDifferent(sync: Comparison["sync"]): boolean {
  return ["differs", "pinned", "refused", "flapping"].includes(sync);
}
