// Prints statistics of the catalogue: drivers, items and settings of each family, texts of each
// language, and the size of the reply with all drivers in every variant.
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { toJson } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { DriverService, ListDriversResponseSchema } from "../gen/mooring/v1/driver_service_pb.js";
import { OFFERS } from "../src/config/family.ts";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { createCatalogue } from "../src/drivers/catalogue.ts";
import { createDriverService } from "../src/drivers/driver.ts";
import { driverImpl } from "../src/drivers/rpc.ts";
import { JSON_OPTIONS } from "../src/gateway/serialize.ts";
import { LANGUAGES, readTranslations } from "../src/messages/language.ts";
import { loadSettingDefinitions } from "../src/settings/definition-file.ts";
import { sourceTexts } from "./translations.ts";

for (const offer of OFFERS) {
  const { drivers } = readBuiltIn({ offer });
  const items = drivers.flatMap(({ additional }) => additional);
  const settings = loadSettingDefinitions(undefined, offer);
  const secrets = items.filter(({ secret }) => secret).length;
  const guides = drivers.filter(({ guide }) => guide !== "").length;
  say(
    `${offer}: ${drivers.length} drivers (${guides} with a guide), ${items.length} items of their own (${secrets} secret), ${settings.length} settings`,
  );
}

const sources = sourceTexts();
for (const language of LANGUAGES) {
  const texts = language === "en" ? sources.length : readTranslations(language).size;
  say(`${language}: ${texts} of ${sources.length} texts`);
}

for (const offer of OFFERS) {
  const catalogue = createCatalogue({ definitions: readBuiltIn({ offer }).drivers });
  const live = { current: () => catalogue, subscribe: () => () => {}, close: () => {} };
  const drivers = createDriverService({ live, stopping: new AbortController().signal });
  const transport = createRouterTransport(({ service }) => {
    service(DriverService, driverImpl(drivers));
  });
  const client = createClient(DriverService, transport);
  for (const view of ["full", "basic"])
    for (const languageCode of LANGUAGES) {
      const reply = await client.listDrivers({ view, languageCode });
      const json = toJson(ListDriversResponseSchema, reply, JSON_OPTIONS) as { drivers: object };
      const body = Buffer.from(JSON.stringify(json.drivers));
      const params = { [zlib.BROTLI_PARAM_QUALITY]: 6 };
      const sizes = [body, gzipSync(body), brotliCompressSync(body, { params })];
      const [plain, gzip, br] = sizes.map(({ length }) => `${Math.round(length / 1000)} kB`);
      say(`driver/list ${offer} ${view} ${languageCode}: ${plain}, gzip ${gzip}, brotli ${br}`);
    }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
