import { FAMILIES, type Family } from "../../src/config/family.ts";
import { createTranslations, type Language } from "../../src/messages/language.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { code, type Field, fieldHtml, title } from "./html.ts";
import type { Page } from "./page.ts";
import { WORDS, type Words } from "./words.ts";

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
      return fieldHtml(fieldOf(setting, translate, defaults, words), words, FAMILIES);
    });
    return {
      path: `setting/${slugOf(settings[0]?.groupLabel ?? "")}`,
      title: label,
      text: [title(label), ...shown].join("\n\n"),
    };
  });
  return [
    { path: "setting/index", title: words.allSettings, text: listText(pages, groups, words) },
    ...pages,
  ];
}

function slugOf(label: string): string {
  const slug = label.toLowerCase().replace(/[^a-z\d]+/g, "-");
  // `index` is the name of the list of groups.
  return slug === "index" ? "search-index" : slug;
}

function fieldOf(
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

function listText(
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
