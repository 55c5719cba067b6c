import { FAMILIES, type Family } from "../../src/config/family.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import {
  type ConfigItem,
  createDriverTranslation,
  type DriverInfo,
} from "../../src/drivers/driver-info.ts";
import { createTranslations, type Language } from "../../src/messages/language.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { FAMILY_NAMES, WORDS, type Words } from "./words.ts";

/** A page of the site. */
export interface Page {
  /** Below the language's root, without `.md`, such as `driver/s3`. */
  readonly path: string;
  readonly title: string;
  /** Markdown with its first heading. */
  readonly text: string;
}

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
    { path: "driver/index", title: words.allDrivers, text: driverList(sorted, words) },
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
  const shown = (item: ConfigItem): string => fieldHtml(itemField(item, inFamily), words, families);
  return [
    title(driver.label),
    `<ul>${facts.map((fact) => `<li>${fact}</li>`).join("")}</ul>`,
    ...(alert === "" ? [] : [`<div class="warning"><p>${escapeHtml(alert)}</p></div>`]),
    heading(2, "own-items", words.ownItems),
    ...(additional.length === 0 ? [`<p>${words.noItems}</p>`] : additional.map(shown)),
    "<!-- rest -->",
    heading(2, "common-items", words.commonItems),
    ...common.map(shown),
  ].join("\n\n");
}

function itemField(item: ConfigItem, inFamily: (family: Family) => DriverInfo | undefined): Field {
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

function driverList(drivers: readonly DriverInfo[], words: Words): string {
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

/** Pages of all groups of settings, and a list of the groups. */
export function settingPages(language: Language): readonly Page[] {
  const words = WORDS[language];
  const translate = createTranslations()(language);
  const families = Object.fromEntries(
    FAMILIES.map((family) => [
      family,
      new Map(loadSettingDefinitions(undefined, family).map((one) => [one.key, one])),
    ]),
  ) as Record<Family, Map<string, SettingDefinition>>;
  const groups = Map.groupBy(loadSettingDefinitions(undefined, "all"), ({ group }) => group);
  const pages = [...groups.values()].map((settings) => {
    const label = translate(settings[0]?.groupLabel ?? "");
    const shown = settings.map((setting) => {
      const defaults = Object.fromEntries(
        FAMILIES.flatMap((family) => {
          const own = families[family].get(setting.key);
          return own === undefined ? [] : [[family, own.default]];
        }),
      );
      return fieldHtml(settingField(setting, translate, defaults, words), words, FAMILIES);
    });
    return {
      path: `setting/${groupSlug(settings[0]?.groupLabel ?? "")}`,
      title: label,
      text: [title(label), ...shown].join("\n\n"),
    };
  });
  return [
    { path: "setting/index", title: words.allSettings, text: groupList(pages, groups, words) },
    ...pages,
  ];
}

function groupSlug(label: string): string {
  const slug = label.toLowerCase().replace(/[^a-z\d]+/g, "-");
  // `index` is the name of the list of groups.
  return slug === "index" ? "search-index" : slug;
}

function settingField(
  setting: SettingDefinition,
  translate: (text: string) => string,
  defaults: Field["defaults"],
  words: Words,
): Field {
  const visibility = [words.public, words.private, words.readonly][setting.flag] ?? "";
  return {
    ...setting,
    name: setting.key,
    label: translate(setting.label),
    description: translate(setting.description),
    optionLabels: setting.optionLabels.map(translate),
    unit: translate(setting.unit ?? ""),
    defaults,
    marks: [
      visibility,
      ...(setting.format === undefined ? [] : [`${words.format} ${code(setting.format)}`]),
      ...(setting.decimal ? [words.decimal] : []),
    ],
  };
}

function groupList(
  pages: readonly Page[],
  groups: ReadonlyMap<number, readonly SettingDefinition[]>,
  words: Words,
): string {
  const rows = [...groups.values()].map((settings, at) => {
    const page = pages[at];
    const keys = settings.map(
      ({ key }) => `[\`${key}\`](./${page?.path.slice("setting/".length)}#${key})`,
    );
    return `## [${page?.title}](./${page?.path.slice("setting/".length)})\n\n${keys.join(", ")}`;
  });
  return [title(words.allSettings), words.settingsAbout, ...rows].join("\n\n");
}

/** Field of a form: an item of a driver, or a setting. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly description: string;
  readonly options: string;
  readonly optionLabels: readonly string[];
  readonly families: readonly Family[];
  readonly secret: boolean;
  readonly required?: boolean;
  /** Defaults of the families with the field. */
  readonly defaults: Readonly<Partial<Record<Family, string>>>;
  readonly unit?: string;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly showWhen?: string;
  /** Further facts, as HTML. */
  readonly marks?: readonly string[];
}

function heading(level: 2 | 3, id: string, text: string): string {
  return `<h${level} id="${id}">${escapeHtml(text)}</h${level}>`;
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

/** Description of a field as an HTML block in Markdown, which must not have empty lines. */
function fieldHtml(field: Field, words: Words, among: readonly Family[]): string {
  const options = field.options === "" ? [] : field.options.split(",");
  const named = options.map((option, at) => {
    const label = field.optionLabels[at] ?? "";
    const shown = option === "" ? words.empty : code(option);
    return label === "" || label === option ? shown : `${shown} ${escapeHtml(label)}`;
  });
  return [
    heading(3, field.name, field.label),
    `<p class="facts">${factsOf(field, words, among)
      .map((fact) => `<span>${fact}</span>`)
      .join("")}</p>`,
    `<p>${paragraph(field.description)}</p>`,
    ...(named.length === 0
      ? []
      : [`<p class="options">${words.options}${words.colon}${named.join(", ")}</p>`]),
    ...(field.showWhen === undefined || field.showWhen === ""
      ? []
      : [`<p class="options">${words.onlyWhen} ${code(field.showWhen)}</p>`]),
  ].join("\n");
}

function factsOf(field: Field, words: Words, among: readonly Family[]): string[] {
  const { type, min, max, unit = "", required = false, secret, marks = [] } = field;
  const bounds = [
    ...(min === undefined ? [] : [`${words.from} ${min}`]),
    ...(max === undefined ? [] : [`${words.to} ${max}`]),
  ];
  const only = field.families.length < among.length ? field.families : [];
  return [
    code(field.name),
    [words.types[type] ?? type, ...bounds, escapeHtml(unit)]
      .filter((text) => text !== "")
      .join(" "),
    ...(required ? [`<span class="mark">${words.required}</span>`] : []),
    ...(secret ? [`<span class="mark">${words.secret}</span>`] : []),
    ...defaultsOf(field, words),
    ...marks,
    ...only.map((family) => `${FAMILY_NAMES[family]} ${words.onlyIn}`),
  ];
}

/** One default, or different defaults by family. */
function defaultsOf({ defaults }: Field, words: Words): string[] {
  const shown = (value = ""): string => (value === "" ? words.empty : code(oneLine(value)));
  const known = FAMILIES.filter((family) => defaults[family] !== undefined);
  const values = new Set(known.map((family) => defaults[family]));
  if (values.size <= 1) {
    const [value = ""] = values;
    return value === "" ? [] : [`${words.default} ${shown(value)}`];
  }
  return known.map(
    (family) => `${words.default} (${FAMILY_NAMES[family]}) ${shown(defaults[family])}`,
  );
}

function oneLine(text: string): string {
  const line = text.replaceAll("\r", "").replaceAll("\n", "⏎");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

function paragraph(text: string): string {
  return escapeHtml(text).replaceAll("\n", "<br>");
}

/** Escapes a Markdown heading. */
function title(text: string): string {
  return `# ${text.replace(/[\\`*_{}[\]<>#|~]/g, "\\$&")}`;
}
