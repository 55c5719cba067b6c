import { FAMILIES, type Family } from "../../src/config/family.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import {
  createDriverTranslation,
  type DriverInfo,
  itemsOf,
} from "../../src/drivers/driver-info.ts";
import { createTranslations, type Language, type Translate } from "../../src/messages/language.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { code, defaultsOf, fieldHtml, heading } from "./field.ts";
import { FAMILY_NAMES, WORDS, type Words } from "./words.ts";

/** A page of the site. */
export interface Page {
  /** Below the language's root, such as `driver/s3`; `driver/` for an index. */
  readonly path: string;
  readonly title: string;
  /** Markdown with its first heading. */
  readonly text: string;
}

/** A list of all drivers, and pages of the common items and of all drivers of any family. */
export function driverPages(language: Language): readonly Page[] {
  const translate = createDriverTranslation(createTranslations()(language));
  const words = WORDS[language];
  const drivers = readBuiltIn({ offer: "all" }).drivers.map(translate);
  const sorted = drivers.toSorted((a, b) => a.label.localeCompare(b.label, language));
  return [
    { path: "driver/", title: words.allDrivers, text: driverList(sorted, words) },
    { path: "driver/common-items", title: words.commonItems, text: commonText(drivers, words) },
    ...sorted.map((driver) => ({
      path: `driver/${slugOf(driver.config.name)}`,
      title: driver.label,
      text: driverText(driver, words),
    })),
  ];
}

/** The file name of a driver's page: `Baidu.Share (2)` is `baidu-share-2`. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Defaults of the items of a family's drivers, by driver and item. */
const driverDefaults = defaultsIn((offer) =>
  readBuiltIn({ offer }).drivers.flatMap((driver) =>
    itemsOf(driver).map((item) => [`${driver.config.name} ${item.name}`, item.default]),
  ),
);

/** Defaults of settings, by key. */
const settingDefaults = defaultsIn((offer) =>
  loadSettingDefinitions(undefined, offer).map((setting) => [setting.key, setting.default]),
);

/** @returns the defaults of a field in each family, from its name. */
function defaultsIn(of: (family: Family) => readonly (readonly [string, string])[]) {
  const maps = { openlist: new Map(of("openlist")), alist: new Map(of("alist")) };
  return (name: string) => defaultsOf((family) => maps[family].get(name));
}

function driverText(driver: DriverInfo, words: Words): string {
  const { config, guide, families, additional, common } = driver;
  const [, , alert = ""] = /^([a-z]+\|)?(.*)$/s.exec(config.alert) ?? [];
  const traits = Object.entries(words.properties).filter(
    ([name]) => Reflect.get(config, name) === true,
  );
  const facts = [
    `${words.driverName}${words.colon}${code(config.name)}`,
    `${words.families}${words.colon}${namesOf(families)}`,
    traits.length > 0 &&
      `${words.traits}${words.colon}${traits.map(([, text]) => text).join("; ")}`,
    guide !== "" && `<a href="${escapeHtml(guide)}" rel="noreferrer">${words.guide}</a>`,
  ].filter((fact) => fact !== false);
  const fields = (items: DriverInfo["common"]): readonly string[] =>
    items.map((item) => {
      const defaults = driverDefaults(`${config.name} ${item.name}`);
      return fieldHtml({ ...item, defaults }, words, families);
    });
  return [
    title(driver.label),
    `<ul>${facts.map((fact) => `<li>${fact}</li>`).join("")}</ul>`,
    ...(alert === "" ? [] : [`<div class="warning"><p>${escapeHtml(alert)}</p></div>`]),
    heading(2, "own-items", words.ownItems),
    ...(additional.length === 0 ? [`<p>${words.noItems}</p>`] : fields(additional)),
    "<!-- rest -->",
    heading(2, "common-items", words.commonItems),
    ...fields(common),
  ].join("\n\n");
}

function driverList(drivers: readonly DriverInfo[], words: Words): string {
  const rows = drivers.map(
    ({ label, config: { name }, families }) =>
      `| [${label.replace(/[[\]|]/g, "\\$&")}](./${slugOf(name)}) | \`${name}\` | ${namesOf(families)} |`,
  );
  return [
    title(words.allDrivers),
    words.driversAbout,
    [`| | ${words.driverName} | ${words.families} |`, "| --- | --- | --- |", ...rows].join("\n"),
  ].join("\n\n");
}

function namesOf(families: readonly Family[]): string {
  return families.map((family) => FAMILY_NAMES[family]).join(", ");
}

/** Common items, each once, in the form of the first driver. */
function commonText(drivers: readonly DriverInfo[], words: Words): string {
  const items = new Map(
    drivers.toReversed().flatMap(({ common }) => common.map((item) => [item.name, item])),
  );
  const fields = [...items.values()].map((item) => fieldHtml(item, words, FAMILIES));
  return [title(words.commonItems), words.commonAbout, ...fields].join("\n\n");
}

/** A list of the groups of settings, and their pages. */
export function settingPages(language: Language): readonly Page[] {
  const words = WORDS[language];
  const translate = createTranslations()(language);
  const all = loadSettingDefinitions(undefined, "all");
  const groups = [...Map.groupBy(all, ({ groupLabel }) => groupLabel)].map(([label, settings]) => ({
    path: `setting/${groupSlug(label)}`,
    title: translate(label),
    settings,
  }));
  const links = groups.map(({ path, title: label, settings }) => {
    const page = path.replace("setting/", "./");
    const keys = settings.map(({ key }) => `[\`${key}\`](${page}#${key})`);
    return `## [${label}](${page})\n\n${keys.join(", ")}`;
  });
  const list = [title(words.allSettings), words.settingsAbout, ...links].join("\n\n");
  return [
    { path: "setting/", title: words.allSettings, text: list },
    ...groups.map(({ path, title: label, settings }) => {
      const fields = settings.map((setting) => settingHtml(setting, words, translate));
      return { path, title: label, text: [title(label), ...fields].join("\n\n") };
    }),
  ];
}

function groupSlug(label: string): string {
  const slug = label.toLowerCase().replace(/[^a-z\d]+/g, "-");
  // `index` is the name of the list of groups.
  return slug === "index" ? "search-index" : slug;
}

function settingHtml(setting: SettingDefinition, words: Words, translate: Translate): string {
  const { key, flag, format, decimal } = setting;
  const field = {
    ...setting,
    name: key,
    label: translate(setting.label),
    description: translate(setting.description),
    optionLabels: setting.optionLabels.map(translate),
    unit: translate(setting.unit ?? ""),
    defaults: settingDefaults(key),
    marks: [
      [words.public, words.private, words.readonly][flag] ?? "",
      format === undefined ? "" : `${words.format} ${code(format)}`,
      decimal ? words.decimal : "",
    ],
  };
  return fieldHtml(field, words, FAMILIES);
}

/** Escapes a Markdown heading. */
function title(text: string): string {
  return `# ${text.replace(/[\\`*_{}[\]<>#|~]/g, "\\$&")}`;
}
