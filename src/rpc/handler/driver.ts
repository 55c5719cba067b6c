import { create } from "@bufbuild/protobuf";
import {
  type DriverInfo as DriverInfoMessage,
  DriverInfoSchema,
} from "../../../gen/mooring/v1/driver_pb.js";
import {
  type DriverService as DriverServiceDesc,
  GetDriverResponseSchema,
  ListDriverNamesResponseSchema,
  ListDriversResponseSchema,
} from "../../../gen/mooring/v1/driver_service_pb.js";
import type { Catalogue } from "../../service/driver/catalogue.ts";
import type { DriverService } from "../../service/driver/driver.ts";
import type { DriverInfo } from "../../service/driver/driver-info.ts";
import type { Handlers } from "../method.ts";

/** Handlers of mooring.v1.DriverService. */
export function driverHandlers(service: () => DriverService): Handlers<typeof DriverServiceDesc> {
  const list = oncePer((catalogue: Catalogue) =>
    create(ListDriversResponseSchema, {
      drivers: Object.fromEntries(
        [...catalogue.drivers].map(([name, driver]) => [name, toProto(driver)]),
      ),
    }),
  );
  const names = oncePer(({ names }: Catalogue) =>
    create(ListDriverNamesResponseSchema, { names: [...names] }),
  );
  const one = oncePer((driver: DriverInfo) =>
    create(GetDriverResponseSchema, { info: toProto(driver) }),
  );
  return {
    listDrivers: () => list(service().catalogue()),
    listDriverNames: () => names(service().catalogue()),
    getDriver: ({ driver }) => one(service().get(driver)),
  };
}

/** A reply for each thing it is made from: catalogues and drivers never change. */
function oncePer<T extends object, M>(make: (thing: T) => M): (thing: T) => M {
  const made = new WeakMap<T, M>();
  return (thing) => {
    const found = made.get(thing);
    if (found !== undefined) return found;
    const reply = make(thing);
    made.set(thing, reply);
    return reply;
  };
}

const toProto = oncePer(
  ({ common, additional, config }: DriverInfo): DriverInfoMessage =>
    create(DriverInfoSchema, {
      common: [...common],
      additional: [...additional],
      config,
    }),
);
