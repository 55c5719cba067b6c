import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import type { DriverService as Drivers } from "../service/driver/driver.ts";
import type { PublicService as PublicReads } from "../service/public.ts";
import type { SettingService as Settings } from "../service/setting/setting.ts";
import { driverHandlers } from "./handler/driver.ts";
import { publicHandlers } from "./handler/public.ts";
import { settingHandlers } from "./handler/setting.ts";
import type { Interceptor, Method } from "./method.ts";
import { bindService } from "./method.ts";

/** The services behind the contract. They exist once the program has started. */
export interface Services {
  readonly publicReads: PublicReads;
  readonly drivers: Drivers;
  readonly settings: Settings;
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
  return [
    ...bindService(
      PublicService,
      publicHandlers(() => services().publicReads),
      interceptors,
    ),
    ...bindService(
      DriverService,
      driverHandlers(() => services().drivers),
      interceptors,
    ),
    ...bindService(
      SettingService,
      settingHandlers(() => services().settings),
      interceptors,
    ),
  ];
}
