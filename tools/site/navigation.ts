import type { Language } from "../../src/messages/language.ts";
import { WORDS, type Words } from "./words.ts";

/** A link of a sidebar or the header. */
export interface Link {
  readonly text: string;
  /** Path in the site, such as `/zh-CN/driver/s3`. */
  readonly path: string;
}

/** A part of the sidebar. */
export interface Section {
  readonly text: string;
  readonly links: readonly Link[];
  /** Whether it is folded unless it has the current page. */
  readonly folded?: boolean;
}

/** Pages of a language, for its sidebar. */
export interface Contents {
  /** Titles of the pages that this language has, by their names, such as `operating`. */
  readonly pages: Readonly<Record<string, string>>;
  readonly drivers: readonly Link[];
  readonly settings: readonly Link[];
  readonly decisions: readonly Link[];
}

/** Sections of the sidebar, and the pages of each in their order. */
const SECTIONS = {
  start: ["start", "beside-your-server", "console", "cli"],
  operators: [
    "operating",
    "containers",
    "configuration",
    "state-file",
    "access",
    "backup",
    "upgrading",
    "postgres",
    "audit",
    "metrics",
    "reliability",
    "security",
    "compatibility",
    "changelog",
  ],
  data: ["settings", "drivers", "mounts", "rules", "incidents", "users"],
  developers: ["calls", "errors", "languages", "rest-contract"],
  internals: [
    "architecture",
    "contributing",
    "console-commands",
    "attack",
    "dependencies",
    "performance",
  ],
} as const satisfies Readonly<Record<keyof Words["sections"], readonly string[]>>;

/** Path of a language's pages. */
export function rootOf(language: Language): string {
  return language === "en" ? "/" : `/${language}/`;
}

/** The navigation of a language. Pages that it lacks are in English. */
export function navigation(language: Language, all: Readonly<Record<Language, Contents>>) {
  const words = WORDS[language];
  const root = rootOf(language);
  const { pages, drivers, settings, decisions } = all[language];
  const link = (name: string): Link =>
    pages[name] === undefined
      ? { text: `${all.en.pages[name]}${words.untranslated}`, path: `/${name}` }
      : { text: pages[name], path: `${root}${name}` };
  const section = (name: keyof typeof SECTIONS): Section => ({
    text: words.sections[name],
    links: SECTIONS[name].map(link),
  });
  const allDrivers = { text: words.allDrivers, path: `${root}driver/` };
  const allSettings = { text: words.allSettings, path: `${root}setting/` };
  const header: readonly Link[] = [
    link("start"),
    { ...link("operating"), text: words.sections.operators },
    { ...link("calls"), text: words.sections.developers },
    allDrivers,
    allSettings,
    // The service redirects it to its own page, outside of the site.
    { text: words.api, path: "/reference" },
  ];
  const guide: readonly Section[] = [
    section("start"),
    section("operators"),
    section("data"),
    section("developers"),
    { text: words.reference, links: [allSettings, allDrivers] },
    { ...section("internals"), folded: true },
    { text: words.decisions, links: decisions, folded: true },
  ];
  return {
    header,
    /** The sidebar of a page. */
    sidebar: (path: string): readonly Section[] => {
      if (path.startsWith(allDrivers.path))
        return [{ text: allDrivers.text, links: [allDrivers, ...drivers] }];
      if (path.startsWith(allSettings.path))
        return [{ text: allSettings.text, links: [allSettings, ...settings] }];
      return guide;
    },
  };
}
