import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { DriverService } from "../../../gen/mooring/v1/driver_service_pb.js";
import { among, fails, refused, replies, type WireCase, wireCase } from "./case.ts";

const { listDrivers, listDriverNames, getDriver, getDriverSchema, validateDriverConfig } =
  DriverService.method;

/** Members that every config item has (docs/rest-contract.md, section 2.3). */
export const ITEM = {
  name: expect.any(String),
  type: expect.stringMatching(/^(string|number|float|text|select|bool)$/),
  default: expect.any(String),
  options: expect.any(String),
  required: expect.any(Boolean),
  help: expect.any(String),
};

/** Members of the configuration of every driver. */
export const CONFIG = {
  name: expect.any(String),
  local_sort: expect.any(Boolean),
  only_local: expect.any(Boolean),
  only_proxy: expect.any(Boolean),
  no_cache: expect.any(Boolean),
  no_upload: expect.any(Boolean),
  need_ms: expect.any(Boolean),
  default_root: expect.any(String),
  alert: expect.stringMatching(/^$|^(info|success|warning|danger)\|./),
};

const unknownDriver = { code: Code.NotFound, message: /\[Lokal\]/ };

/** The catalogue of drivers. */
export const driverCases: readonly WireCase[] = [
  wireCase(
    "the list has a template for every driver",
    replies(
      listDrivers,
      {},
      { drivers: { Local: { config: { name: "Local" } }, S3: { config: { name: "S3" } } } },
    ),
  ),
  wireCase(
    "the names are in one order",
    replies(listDriverNames, {}, { names: sorted() }),
    replies(listDriverNames, {}, { names: sorted() }),
  ),
  wireCase(
    "one driver's template can be read by its name",
    replies(
      getDriver,
      { driver: "Local" },
      {
        info: {
          common: among({ ...ITEM, name: "mount_path", required: true }),
          additional: among({ name: "root_folder_path" }),
          config: { ...CONFIG, name: "Local", only_local: true },
        },
      },
    ),
  ),
  wireCase(
    "an unknown driver is not found, and the message names it",
    fails(getDriver, { driver: "Lokal" }, unknownDriver),
    fails(getDriverSchema, { driver: "Lokal" }, unknownDriver),
    fails(validateDriverConfig, { driver: "Lokal", values: {} }, unknownDriver),
  ),
  wireCase(
    "a missing driver is not found",
    fails(getDriver, {}, { code: Code.NotFound, message: /driver/ }),
  ),
  wireCase(
    "a driver's schema is a JSON Schema",
    replies(
      getDriverSchema,
      { driver: "S3" },
      { schema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" } },
    ),
  ),
  wireCase(
    "a valid configuration has no violations and gets its defaults",
    replies(
      validateDriverConfig,
      { driver: "Local", values: { mount_path: "/a", root_folder_path: "/srv" } },
      { violations: [], values: { mount_path: "/a", root_folder_path: "/srv" } },
    ),
  ),
  wireCase(
    "an invalid configuration is an ordinary reply with violations",
    replies(
      validateDriverConfig,
      { driver: "Local", values: { nonsense: "x" } },
      { violations: among({ field: "nonsense" }) },
    ),
  ),
  wireCase(
    "values and text_values together are refused",
    refused(
      validateDriverConfig,
      { driver: "Local", values: {}, textValues: { mount_path: "/a" } },
      /not both/,
      "text_values",
    ),
  ),
];

function sorted(): unknown {
  return expect.toSatisfy(
    (names: string[]) => names.length >= 12 && names.join() === names.toSorted().join(),
    "names in code point order",
  );
}
