import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ConfigItem as ConfigItemMessage,
  ConfigItemSchema,
  type DriverInfo as DriverInfoMessage,
  DriverInfoSchema,
} from "../../gen/mooring/v1/driver_pb.js";
import {
  type DriverService as DriverServiceDesc,
  GetDriverResponseSchema,
  GetDriverSchemaResponseSchema,
  ListDriverNamesResponseSchema,
  ListDriversResponseSchema,
  ValidateDriverConfigResponseSchema,
  WatchDriversResponseSchema,
} from "../../gen/mooring/v1/driver_service_pb.js";
import { perPair } from "../collection-view.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { type Catalogue, diffCatalogues } from "./catalogue.ts";
import type { DriverService } from "./driver.ts";
import { type ConfigItem, createDriverTranslation, type DriverInfo } from "./driver-info.ts";
import { LIMITS } from "./limits.ts";
import { driverJsonSchema } from "./schema.ts";
import { typedValues, validateDriverConfig } from "./validate.ts";

/** Implements DriverService. */
export function driverImpl(
  service: DriverService,
  translations: (language: Language) => Translate = createTranslations(),
): ServiceImpl<typeof DriverServiceDesc> {
  const languageOf = createLanguageOf();
  const sayIn = createSayIn(translations);
  const spoken = memoize((language: Language) =>
    repliesIn(language, service, translations(language)),
  );
  const firstEvent = memoize(({ revision }: Catalogue) =>
    memoize((reset: boolean) => create(WatchDriversResponseSchema, { revision, reset })),
  );
  const changeEvent = perPair((from: Catalogue, to: Catalogue) => {
    const { added, changed, removed } = diffCatalogues(from, to);
    return create(WatchDriversResponseSchema, {
      revision: to.revision,
      added: [...added],
      changed: [...changed],
      removed: [...removed],
    });
  });
  const nameList = memoize(({ names, revision }: Catalogue) =>
    create(ListDriverNamesResponseSchema, { names: [...names], revision }),
  );
  return {
    listDrivers: ({ view, languageCode }, context) => {
      const { basic, full } = spoken(languageOf(context, languageCode));
      if (view === "" || view === "full") return full(service.catalogue());
      if (view === "basic") return basic(service.catalogue());
      throw invalid([{ field: "view", description: message("VIEW_INVALID") }]);
    },
    listDriverNames: () => nameList(service.catalogue()),
    getDriver: ({ driver, languageCode }, context) =>
      spoken(languageOf(context, languageCode)).info(driver),
    getDriverSchema: ({ driver, languageCode }, context) =>
      spoken(languageOf(context, languageCode)).schema(driver),
    validateDriverConfig: ({ driver, values, textValues }, context) => {
      const info = service.get(driver);
      const asText = Object.keys(textValues).length > 0;
      if (asText && values !== undefined)
        throw invalid([{ field: "text_values", description: message("VALUES_AMBIGUOUS") }]);
      const field = asText ? "text_values" : "values";
      const count = Object.keys(asText ? textValues : (values ?? {})).length;
      if (count > LIMITS.given)
        throw invalid([
          { field, description: message("TOO_MANY_KEYS", { most: LIMITS.given, count }) },
        ]);
      const result = validateDriverConfig(
        info,
        asText ? typedValues(info, textValues) : (values ?? {}),
      );
      const say = sayIn(context);
      return create(ValidateDriverConfigResponseSchema, {
        violations: result.violations.map(({ field, description }) => ({
          field,
          description: say(description),
        })),
        values: result.values,
        textValues: result.textValues,
      });
    },
    watchDrivers: ({ revision }, { signal }) =>
      service.watch(
        {
          first: (catalogue) => firstEvent(catalogue)(revision !== catalogue.revision),
          step: changeEvent,
        },
        signal,
      ),
  };
}

/** Replies in one language. */
function repliesIn(language: Language, service: DriverService, translate: Translate) {
  const translated = memoize(createDriverTranslation(translate));
  const listOf = (show: (driver: DriverInfo) => DriverInfoMessage) =>
    memoize(({ drivers, revision }: Catalogue) =>
      create(ListDriversResponseSchema, {
        drivers: Object.fromEntries([...drivers].map(([name, driver]) => [name, show(driver)])),
        revision,
        languageCode: language,
      }),
    );
  const info = memoize((driver: DriverInfo) => toProto(translated(driver)));
  return {
    full: listOf(info),
    basic: listOf((driver) => toProto(withoutTexts(translated(driver)))),
    info: replyPerDriver(service, (driver, revision) =>
      create(GetDriverResponseSchema, { info: info(driver), revision, languageCode: language }),
    ),
    schema: replyPerDriver(service, (driver, revision) =>
      create(GetDriverSchemaResponseSchema, {
        // The type is deeply readonly, and the value is not changed here.
        schema: driverJsonSchema(translated(driver), translate) as JsonObject,
        revision,
        languageCode: language,
      }),
    ),
  };
}

/** Basic view: the members for programs. It includes the alert, as in the contract. */
function withoutTexts(driver: DriverInfo): DriverInfo {
  const bare = (item: ConfigItem): ConfigItem => ({
    ...item,
    help: "",
    description: "",
    label: "",
    optionLabels: [],
  });
  return {
    ...driver,
    label: "",
    guide: "",
    common: driver.common.map(bare),
    additional: driver.additional.map(bare),
  };
}

/**
 * Reply about one driver, created once per catalogue, because it contains the catalogue's revision.
 */
function replyPerDriver<M>(
  service: DriverService,
  make: (driver: DriverInfo, revision: string) => M,
): (name: string) => M {
  const ofCatalogue = memoize(({ revision }: Catalogue) =>
    memoize((driver: DriverInfo) => make(driver, revision)),
  );
  return (name) => ofCatalogue(service.catalogue())(service.get(name));
}

function toProto(driver: DriverInfo): DriverInfoMessage {
  return create(DriverInfoSchema, {
    ...driver,
    common: driver.common.map(itemToProto),
    additional: driver.additional.map(itemToProto),
    families: [...driver.families],
  });
}

/** Created once for all drivers with this item. */
const itemToProto = memoize(
  (item: ConfigItem): ConfigItemMessage =>
    create(ConfigItemSchema, {
      ...item,
      optionLabels: [...item.optionLabels],
      families: [...item.families],
    }),
);
