import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type DriverInfo as DriverInfoMessage,
  DriverInfoSchema,
} from "../../../gen/mooring/v1/driver_pb.js";
import {
  type DriverService as DriverServiceDesc,
  GetDriverResponseSchema,
  GetDriverSchemaResponseSchema,
  ListDriverNamesResponseSchema,
  ListDriversResponseSchema,
  ValidateDriverConfigResponseSchema,
  WatchDriversResponseSchema,
} from "../../../gen/mooring/v1/driver_service_pb.js";
import type { Catalogue } from "../../service/driver/catalogue.ts";
import type { DriverService } from "../../service/driver/driver.ts";
import type { DriverInfo } from "../../service/driver/driver-info.ts";
import { driverJsonSchema } from "../../service/driver/schema.ts";
import { typedValues, validateDriverConfig } from "../../service/driver/validate.ts";
import { invalid } from "../../service/error.ts";
import type { Handlers } from "../method.ts";

/** Handlers of mooring.v1.DriverService. */
export function driverHandlers(service: () => DriverService): Handlers<typeof DriverServiceDesc> {
  const list = oncePer((catalogue: Catalogue) =>
    create(ListDriversResponseSchema, {
      drivers: Object.fromEntries(
        [...catalogue.drivers].map(([name, driver]) => [name, toProto(driver)]),
      ),
      revision: catalogue.revision,
    }),
  );
  const nameList = oncePer(({ names, revision }: Catalogue) =>
    create(ListDriverNamesResponseSchema, { names: [...names], revision }),
  );
  const info = oncePerDriver(service, (driver, revision) =>
    create(GetDriverResponseSchema, { info: toProto(driver), revision }),
  );
  const schema = oncePerDriver(service, (driver, revision) =>
    create(GetDriverSchemaResponseSchema, {
      // Deeply readonly there, and never changed here.
      schema: driverJsonSchema(driver) as JsonObject,
      revision,
    }),
  );
  return {
    listDrivers: () => list(service().catalogue()),
    listDriverNames: () => nameList(service().catalogue()),
    getDriver: ({ driver }) => info(driver),
    getDriverSchema: ({ driver }) => schema(driver),
    validateDriverConfig: ({ driver, values, textValues }) => {
      const info = service().get(driver);
      const asText = Object.keys(textValues).length > 0;
      if (asText && values !== undefined)
        throw invalid([
          { field: "text_values", description: "give values or text_values, not both" },
        ]);
      const result = validateDriverConfig(
        info,
        asText ? typedValues(info, textValues) : (values ?? {}),
      );
      return create(ValidateDriverConfigResponseSchema, {
        violations: [...result.violations],
        values: result.values,
        textValues: result.textValues,
      });
    },
    async *watchDrivers({ revision }, call) {
      const first = service().catalogue();
      const reset = revision !== first.revision;
      yield create(WatchDriversResponseSchema, { revision: first.revision, reset });
      for await (const { catalogue, difference } of service().changes(first, call.signal))
        yield create(WatchDriversResponseSchema, {
          revision: catalogue.revision,
          added: [...difference.added],
          changed: [...difference.changed],
          removed: [...difference.removed],
        });
    },
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

/** Likewise for one driver of a catalogue: the reply names the catalogue's revision. */
function oncePerDriver<M>(
  service: () => DriverService,
  make: (driver: DriverInfo, revision: string) => M,
): (name: string) => M {
  const ofCatalogue = oncePer(({ revision }: Catalogue) =>
    oncePer((driver: DriverInfo) => make(driver, revision)),
  );
  return (name) => ofCatalogue(service().catalogue())(service().get(name));
}

const toProto = oncePer(
  ({ common, additional, config }: DriverInfo): DriverInfoMessage =>
    create(DriverInfoSchema, { common: [...common], additional: [...additional], config }),
);
