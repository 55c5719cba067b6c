import type { Config } from "../config/config.ts";
import { readBuiltIn } from "../drivers/built-in.ts";
import { openCatalogue } from "../drivers/driver.ts";
import type { RecordKind } from "../history/kind.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { View } from "../ledger/view.ts";
import { memoize } from "../memoize.ts";
import { isRunning } from "../mounts/effect.ts";
import { mountsKind } from "../mounts/history-kind.ts";
import { type Mount, readMounts } from "../mounts/mount.ts";
import { nameByPath } from "../mounts/name-by-path.ts";
import { createMountRegistry, type MountStateStore } from "../mounts/site/registry.ts";
import type { SettingItem } from "../settings/item.ts";
import { MOUNTS } from "../settings/mount-key.ts";
import type { SiteStore, StoredSite } from "../sites/store.ts";

/** Mounts of a database without a service, as a kind of records in the history. */
export interface OfflineMounts {
  /** The kind, to show changes. */
  readonly kind: RecordKind;
  /** The kind, to restore mounts: reads the drivers, the file of mounts and the states on sites. */
  restorable(): Promise<RecordKind>;
}

export async function openOfflineMounts(
  config: Pick<Config, "family" | "driversDir" | "driversEnabled" | "mountsFile">,
  store: {
    readonly sites: Pick<SiteStore, "list">;
    readonly mountStates: MountStateStore;
  },
  snapshot: () => Snapshot,
): Promise<OfflineMounts> {
  const sites = await store.sites.list();
  const read = memoize((rows: View<SettingItem>) => readMounts(rows.items()));
  const mounts = (): ReadonlyMap<string, Mount> => read(snapshot().of(MOUNTS));
  const known = {
    mounts,
    nameOf: nameByPath(mounts),
    sites: () => ({
      ids: sites.map(({ id }) => id),
      nameOf: (id: string) => sites.find((site) => site.id === id)?.name ?? "",
    }),
  };
  return {
    kind: mountsKind({
      ...known,
      running: () => [],
      driverOf: () => undefined,
      managedBy: () => undefined,
    }),
    restorable: async () => {
      const drivers = await readDrivers(config);
      const running = await runningSites(sites, store.mountStates);
      const managed = await namesInFile(config.mountsFile);
      return mountsKind({
        ...known,
        running: () => running,
        driverOf: (name) => drivers.get(name),
        managedBy: (name) =>
          managed.has(name) ? `the file of mounts ${config.mountsFile}` : undefined,
      });
    },
  };
}

async function readDrivers({
  family,
  driversDir,
  driversEnabled,
}: Pick<Config, "family" | "driversDir" | "driversEnabled">) {
  const live = await openCatalogue({
    builtIn: readBuiltIn({ offer: family }),
    directory: driversDir,
    enabled: driversEnabled,
    onError: (error) => {
      throw error;
    },
  });
  await live.close();
  return live.current();
}

/** Sites whose mounts a service writes to their servers. */
async function runningSites(
  sites: readonly StoredSite[],
  states: MountStateStore,
): Promise<readonly StoredSite[]> {
  const registry = createMountRegistry(states);
  await registry.load();
  return sites.filter((site) => isRunning(site, registry.site(site.id)));
}

async function namesInFile(path: string | undefined): Promise<ReadonlySet<string>> {
  if (path === undefined) return new Set();
  // Imported on demand: it loads the parser of YAML.
  const { loadMounts } = await import("../mounts/provision.ts");
  return new Set(loadMounts(path, process.env).inputs.map(({ name }) => name));
}
