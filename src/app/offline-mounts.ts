import type { Config } from "../config/config.ts";
import { builtInOf } from "../drivers/built-in.ts";
import type { Catalogue } from "../drivers/catalogue.ts";
import { openCatalogue } from "../drivers/driver.ts";
import type { RecordKind } from "../history/kind.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { RunningSite } from "../mounts/effect.ts";
import { mountsKind } from "../mounts/history-kind.ts";
import { MOUNTS, mountsByName } from "../mounts/kind.ts";
import type { Mount } from "../mounts/mount.ts";
import { nameByPath } from "../mounts/name-by-path.ts";
import { createMountRegistry } from "../mounts/site/registry.ts";
import { isRunning } from "../records/effect.ts";
import { createRuleView } from "../rules/rule-view.ts";
import { createMoving } from "../rules/site/moving.ts";
import type { StoredSite } from "../sites/store.ts";
import type { RecordStateStore } from "../sync/record-state-store.ts";

/** Mounts of a database without a service, as a kind of records in the history. */
export interface OfflineMounts {
  /** The kind, to show changes. */
  readonly kind: RecordKind;
  /** The kind, to restore mounts: reads the states on sites. */
  restorable(): Promise<RecordKind>;
  /** Sites to whose servers a service brings changes of mounts: reads the states on sites. */
  running(): Promise<readonly RunningSite[]>;
}

export function openOfflineMounts(
  store: { readonly mountStates: RecordStateStore },
  {
    declaredBy,
    drivers,
    sites,
    snapshot,
  }: {
    /** File that declares a mount; undefined: none. */
    readonly declaredBy: (name: string) => string | undefined;
    readonly drivers: Pick<Catalogue, "get">;
    readonly sites: OfflineSites;
    readonly snapshot: () => Snapshot;
  },
): OfflineMounts {
  const mounts = (): ReadonlyMap<string, Mount> => mountsByName(snapshot().of(MOUNTS));
  const known = {
    mounts,
    nameOf: nameByPath(mounts),
    sites: () => sites,
  };
  const readRunning = async (): Promise<readonly RunningSite[]> => {
    const { wantedOf } = createRuleView({ snapshot });
    return (await runningSites(sites.stored, store.mountStates)).map(({ id, name }) => ({
      id,
      name,
      opensWhenMoved: createMoving(wantedOf({ id })),
    }));
  };
  return {
    running: readRunning,
    kind: mountsKind({
      ...known,
      running: () => [],
      driverOf: () => undefined,
      managedBy: () => undefined,
    }),
    restorable: async () => {
      const running = await readRunning();
      return mountsKind({
        ...known,
        running: () => running,
        driverOf: (name) => drivers.get(name),
        managedBy: declaredBy,
      });
    },
  };
}

/** Sites of a database without a service. */
export interface OfflineSites {
  readonly stored: readonly StoredSite[];
  readonly ids: readonly string[];
  /** Empty: no site has this id. */
  nameOf(id: string): string;
}

export function offlineSites(stored: readonly StoredSite[]): OfflineSites {
  return {
    stored,
    ids: stored.map(({ id }) => id),
    nameOf: (id) => stored.find((site) => site.id === id)?.name ?? "",
  };
}

/**
 * Drivers of a database without a service. Invalid driver files are left out; all items of unknown
 * drivers are secret.
 */
export async function readOfflineDrivers({
  family,
  driversDir,
  driversEnabled,
}: Pick<Config, "family" | "driversDir" | "driversEnabled">): Promise<Catalogue> {
  const live = await openCatalogue({
    builtIn: () => builtInOf(family),
    directory: driversDir,
    enabled: driversEnabled,
    onError: () => undefined,
    onNotice: () => undefined,
  });
  await live.close();
  return live.current();
}

/** Sites whose mounts a service writes to their servers. */
async function runningSites(
  sites: readonly StoredSite[],
  states: RecordStateStore,
): Promise<readonly StoredSite[]> {
  const registry = createMountRegistry(states);
  await registry.load();
  return sites.filter((site) => isRunning(site, registry.site(site.id)));
}
