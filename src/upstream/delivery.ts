import type { Ledger } from "../ledger/ledger.ts";
import { waitAtMost } from "../pause.ts";
import { SETTINGS } from "../settings/kind.ts";
import { keyPolicyOf } from "../sites/settings/key-policy.ts";
import type { ReplacedValue, Site } from "../sites/site.ts";
import type { Sites } from "../sites/sites.ts";

/**
 * Maximum wait for values that the upstream checks, whose refusal is reported to the caller, in
 * milliseconds.
 */
const CHECKED_PATIENCE = 10_000;
/** Interval in which a process without the lease reads the sites' states, in milliseconds. */
const READ_INTERVAL = 30;

/** A value that the upstream refused, and that Mooring therefore does not keep. */
export interface UpstreamRefusedValue extends ReplacedValue {
  readonly key: string;
}

/**
 * Delivery of a change to the upstream at the time of the reply. `pending`: not known yet; it is
 * settled in the background by reading the upstream's values.
 */
export type Delivery =
  | { readonly outcome: "applied" | "pending" }
  | { readonly outcome: "refused"; readonly refusals: readonly UpstreamRefusedValue[] };

export interface DeliveryDeps {
  readonly sites: Pick<Sites, "registry" | "sync" | "settings">;
  readonly ledger: Pick<Ledger, "snapshot">;
  readonly now: () => number;
  /** Maximum wait for other values, in milliseconds. */
  readonly patience: number;
  readonly onError: (error: unknown) => void;
}

/** Waits until a site has accepted or refused a revision. */
export async function waitForDelivery(
  { sites, ledger, now, patience, onError }: DeliveryDeps,
  site: Site,
  revision: number,
): Promise<Delivery> {
  const { registry, settings, sync } = sites;
  const isDelivered = (): boolean => registry.state(site.id).appliedRevision >= revision;
  const isChecked = Array.from(ledger.snapshot().of(SETTINGS).items()).some(
    (item) => item.revision === revision && keyPolicyOf(item.key).separate,
  );
  const began = now();
  const left = (): number => {
    // Waits less for an upstream that does not answer.
    const answers = registry.state(site.id).error === undefined;
    return began + (isChecked && answers ? CHECKED_PATIENCE : patience) - now();
  };
  if (sync.isLeader()) void settings.reconcile(site.id).catch(onError);
  while (!isDelivered() && left() > 0) {
    await nextChange(registry, sync.isLeader() ? left() : Math.min(READ_INTERVAL, left()));
    if (!sync.isLeader()) await registry.load();
  }
  if (!isDelivered()) return { outcome: "pending" };
  const refusals = Object.entries(registry.state(site.id).replaced)
    .filter(([, refusal]) => refusal.revision === revision)
    .map(([key, refusal]) => ({ key, ...refusal }));
  return refusals.length > 0 ? { outcome: "refused", refusals } : { outcome: "applied" };
}

/** Resolves when a site or its state changes, or after `ms` milliseconds. */
async function nextChange(registry: Sites["registry"], ms: number): Promise<void> {
  const change = Promise.withResolvers<void>();
  const stop = registry.onChange(change.resolve);
  await waitAtMost(ms, change.promise);
  stop();
}
