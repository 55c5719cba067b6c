import type { Archive } from "../archive/archive.ts";
import type { DeriveKey } from "../archive/passphrase.ts";
import type { Config } from "../config/config.ts";
import { inMemory } from "../config/database.ts";
import { mountRules } from "../mounts/kind.ts";
import { folderRules } from "../rules/kind.ts";
import { createSealer } from "../secrets/sealer.ts";
import { createSiteRegistry } from "../sites/registry.ts";
import { createDeclared } from "../state-file/declared.ts";
import { createLogger } from "../telemetry/log.ts";
import { openStore } from "./database.ts";
import { openOfflineArchive } from "./offline.ts";
import { offlineSites, readOfflineDrivers } from "./offline-mounts.ts";
import { startSettingServices } from "./settings.ts";
import { programVersion } from "./version.ts";

/**
 * Opens the archive of a new Mooring in memory, to try a restore.
 *
 * @param config drivers and bounds are those of the service.
 * @param deriveKey derivation of keys of sealed archives; default: scrypt in this process.
 */
export async function openEmptyArchive(
  config: Config,
  deriveKey?: DeriveKey,
): Promise<{ readonly archive: Archive; readonly close: () => Promise<void> }> {
  const database = { dialect: "sqlite", filename: inMemory } as const;
  const own: Config = { ...config, database, secretKeys: [] };
  const store = await openStore({ database, integrityCheck: "off" }, () => undefined);
  const log = await createLogger({ level: "silent", format: "json" });
  const drivers = await readOfflineDrivers(own);
  const services = await startSettingServices(own, {
    store,
    log,
    otherKinds: [
      mountRules({ driverOf: (name) => drivers.get(name), sites: () => offlineSites([]) }),
      folderRules({ sites: () => offlineSites([]) }),
    ],
    version: programVersion(),
    managedBy: () => undefined,
    showToken: () => undefined,
  });
  await services.begin();
  const sites = createSiteRegistry({
    store: store.sites,
    sealer: createSealer([]),
    onClosed: () => undefined,
  });
  await sites.load();
  return {
    archive: await openOfflineArchive(own, {
      store,
      services,
      sites,
      drivers,
      declared: createDeclared(),
      running: [],
      deriveKey,
    }),
    close: async () => {
      await services.close();
      await store.close();
    },
  };
}
