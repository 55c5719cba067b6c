import { FAMILIES, type Family } from "../../src/config/family.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import {
  type ConfigItem,
  createDriverTranslation,
  type DriverInfo,
} from "../../src/drivers/driver-info.ts";
import { createTranslations, type Language } from "../../src/messages/language.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import { code, type Field, fieldHtml, heading, title } from "./html.ts";
import type { Page } from "./page.ts";
import { FAMILY_NAMES, WORDS, type Words } from "./words.ts";

/** Pages of all drivers of any family, of the common items, and a list of all drivers. */
export function driverPages(language: Language): readonly Page[] {
  const translate = createDriverTranslation(createTranslations()(language));
  const words = WORDS[language];
  const families = Object.fromEntries(
    FAMILIES.map((offer) => [offer, new Map(readBuiltIn({ offer }).drivers.map(named))]),
  ) as Record<Family, Map<string, DriverInfo>>;
  const drivers = readBuiltIn({ offer: "all" }).drivers.map(translate);
  const sorted = drivers.toSorted((a, b) => a.label.localeCompare(b.label, language));
  const pages = sorted.map((driver) => ({
    path: `driver/${slugOf(driver.config.name)}`,
    title: driver.label,
    text: driverText(driver, words, (family) => families[family].get(driver.config.name)),
  }));
  return [
    { path: "driver/index", title: words.allDrivers, text: listText(sorted, words) },
    { path: "driver/common-items", title: words.commonItems, text: commonText(drivers, words) },
    ...pages,
  ];
}

function named(driver: DriverInfo): readonly [string, DriverInfo] {
  return [driver.config.name, driver];
}

/** The file name of a driver's page: `Baidu.Share (2)` is `baidu-share-2`. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "-")
    .replace(/^-|-$/g, "");
}

function driverText(
  driver: DriverInfo,
  words: Words,
  inFamily: (family: Family) => DriverInfo | undefined,
): string {
  const { config, guide, families, additional, common } = driver;
  const [, , alert = ""] = /^([a-z]+\|)?(.*)$/s.exec(config.alert) ?? [];
  const traits = Object.entries(words.properties).filter(
    ([name]) => Reflect.get(config, name) === true,
  );
  const facts = [
    `${words.driverName}${words.colon}${code(config.name)}`,
    `${words.families}${words.colon}${families.map((family) => FAMILY_NAMES[family]).join(", ")}`,
    ...(traits.length === 0
      ? []
      : [`${words.traits}${words.colon}${traits.map(([, text]) => text).join("; ")}`]),
    ...(guide === "" ? [] : [`<a href="${escapeHtml(guide)}" rel="noreferrer">${words.guide}</a>`]),
  ];
  const shown = (item: ConfigItem): string => fieldHtml(fieldOf(item, inFamily), words, families);
  return [
    title(driver.label),
    `<ul v-pre>${facts.map((fact) => `<li>${fact}</li>`).join("")}</ul>`,
    ...(alert === ""
      ? []
      : [`<div class="warning custom-block" v-pre><p>${escapeHtml(alert)}</p></div>`]),
    heading(2, "own-items", words.ownItems),
    ...(additional.length === 0 ? [`<p>${words.noItems}</p>`] : additional.map(shown)),
    "<!-- rest -->",
    heading(2, "common-items", words.commonItems),
    ...common.map(shown),
  ].join("\n\n");
}

function fieldOf(item: ConfigItem, inFamily: (family: Family) => DriverInfo | undefined): Field {
  const defaults = Object.fromEntries(
    FAMILIES.flatMap((family) => {
      const driver = inFamily(family);
      const own = [...(driver?.common ?? []), ...(driver?.additional ?? [])].find(
        ({ name }) => name === item.name,
      );
      return own === undefined ? [] : [[family, own.default]];
    }),
  );
  return { ...item, defaults };
}

function listText(drivers: readonly DriverInfo[], words: Words): string {
  const rows = drivers.map(({ label, config, families }) => {
    const names = families.map((family) => FAMILY_NAMES[family]).join(", ");
    return `| [${label.replace(/[[\]|]/g, "\\$&")}](./${slugOf(config.name)}) | \`${config.name}\` | ${names} |`;
  });
  return [
    title(words.allDrivers),
    words.driversAbout,
    [`| | ${words.driverName} | ${words.families} |`, "| --- | --- | --- |", ...rows].join("\n"),
  ].join("\n\n");
}

/** Common items, each once, in the form of the first driver. */
function commonText(drivers: readonly DriverInfo[], words: Words): string {
  const items = new Map(
    drivers.toReversed().flatMap(({ common }) => common.map((item) => [item.name, item])),
  );
  const shown = [...items.values()].map((item) =>
    fieldHtml({ ...item, defaults: {} }, words, FAMILIES),
  );
  return [title(words.commonItems), words.commonAbout, ...shown].join("\n\n");
}
