import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import type { BackupService } from "../service/backup/backup.ts";
import type { DriverService as Drivers } from "../service/driver/driver.ts";
import type { History } from "../service/setting/history.ts";
import { backupHandlers } from "./handler/backup.ts";
import { driverHandlers } from "./handler/driver.ts";
import { historyHandlers } from "./handler/history.ts";
import { publicHandlers } from "./handler/public.ts";
import { settingHandlers } from "./handler/setting.ts";
import { type WatchSource, watchHandlers } from "./handler/watch.ts";
import type { Interceptor, Method } from "./method.ts";
import { bindService } from "./method.ts";

/** The services behind the contract. They exist once the program has started. */
export interface Services extends WatchSource {
  readonly drivers: Drivers;
  readonly history: History;
  readonly backup: BackupService;
}

/**
 * Binds the whole contract: every method of every service with the interceptors around it.
 *
 * @param services asked at each call; the ready interceptor keeps calls away before they exist.
 */
export function bindContract(
  services: () => Services,
  interceptors: readonly Interceptor[],
): Method[] {
  const { watchSettings, watchPublicSettings } = watchHandlers(services);
  const publicReads = { ...publicHandlers(() => services().publicReads), watchPublicSettings };
  const settings = {
    ...settingHandlers(() => services().settings),
    ...historyHandlers(() => services().history),
    ...backupHandlers(() => services().backup),
    watchSettings,
  };
  return [
    ...bindService(PublicService, publicReads, interceptors),
    ...bindService(
      DriverService,
      driverHandlers(() => services().drivers),
      interceptors,
    ),
    ...bindService(SettingService, settings, interceptors),
  ];
}
