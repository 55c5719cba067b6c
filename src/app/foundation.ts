import type { Config } from "../config/config.ts";
import { makeDataFolder } from "../database/sqlite/file.ts";
import { builtInOf } from "../drivers/built-in.ts";
import { type LiveCatalogue, openCatalogue } from "../drivers/driver.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { mountRules } from "../mounts/kind.ts";
import { folderRules } from "../rules/kind.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { SiteTimes } from "../sites/sites.ts";
import { createDeclared, type Declared } from "../state-file/declared.ts";
import type { Store } from "../store/stores.ts";
import type { Logger } from "../telemetry/log.ts";
import { openStore } from "./database.ts";
import {
  type SettingServiceOptions,
  type SettingServices,
  startSettingServices,
} from "./settings.ts";
import { openRegistry } from "./sites.ts";

export interface FoundationDeps
  extends Omit<SettingServiceOptions, "store" | "commonLog" | "managedBy" | "otherKinds"> {
  /** Log for events that every process on this database observes. */
  readonly commonLog: Logger;
  /** Other intervals for the background work on sites; undefined: those of the program. */
  readonly siteTimes?: SiteTimes | undefined;
}

/** The data of the service: drivers, database, ledger and settings. */
export interface Foundation {
  readonly drivers: LiveCatalogue;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  readonly store: Store;
  readonly registry: SiteRegistry;
  /** Names of the records that the files of the deployment declare. */
  readonly declared: Declared;
  readonly services: SettingServices;
}

/**
 * Opens the data of the service.
 *
 * @param opened closes it.
 * @throws Error with a message for the operator.
 */
export async function openFoundation(
  config: Config,
  deps: FoundationDeps,
  opened: AsyncDisposableStack,
): Promise<Foundation> {
  const { log, commonLog, siteTimes: times } = deps;
  const drivers = await openDrivers(config, commonLog);
  opened.defer(drivers.close);
  await makeDataFolder(config.dataDir);
  const store = await openStore(config, (level, message) => log[level](message));
  opened.defer(() => store.close());
  const registry = await openRegistry(config, { store, log, times });
  const driverOf = (name: string) => drivers.current().get(name);
  const declared = createDeclared();
  const services = await startSettingServices(config, {
    ...deps,
    store,
    managedBy: (key) => declared.by("settings", key),
    otherKinds: [
      mountRules({ driverOf, sites: registry.names }),
      folderRules({ sites: registry.names }),
    ],
  });
  opened.defer(services.close);
  return {
    drivers,
    driverOf,
    driverNames: () => drivers.current().names,
    store,
    registry,
    declared,
    services,
  };
}

/** Reads the drivers and follows their folder. */
function openDrivers(
  { family, driversDir, driversEnabled }: Config,
  log: Logger,
): Promise<LiveCatalogue> {
  return openCatalogue({
    builtIn: () => builtInOf(family),
    directory: driversDir,
    enabled: driversEnabled,
    onError: (error) => log.error({ reason: error.message }, "the driver folder is invalid"),
    onNotice: (message) => log.info(message),
  });
}
