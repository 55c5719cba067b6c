import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { memoize } from "../memoize.ts";

/** Languages of texts for people, as BCP 47 tags; the first is that of the program itself. */
export const LANGUAGES = ["en", "zh-CN"] as const;

export type Language = (typeof LANGUAGES)[number];

/** Longest list of languages that is looked at, in characters, and most languages of one. */
const MAX_LENGTH = 1_000;
const MAX_RANGES = 20;
/** Longest tag of a language that is looked at (RFC 5646, section 4.4.1, knows of 35 characters). */
const MAX_TAG = 35;

/**
 * The language to answer in.
 *
 * @param asked what the request itself says; it wins. A language that is not spoken here is English.
 * @param accepted an `accept-language` header (RFC 9110, section 12.5.4).
 */
export function chooseLanguage(asked: string, accepted: string | undefined): Language {
  if (asked !== "") return spoken(asked) ?? "en";
  if (accepted === undefined || accepted.length > MAX_LENGTH) return "en";
  const ranges = accepted.split(",", MAX_RANGES).map((part) => {
    const [tag = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? "1";
    return { tag, weight: Number.parseFloat(weight) || 0 };
  });
  // The sort is stable: of two alike the first counts.
  const wanted = ranges.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  for (const { tag } of wanted) {
    const language = tag === "*" ? "en" : spoken(tag);
    if (language !== undefined) return language;
  }
  return "en";
}

/** By the primary language alone: whoever reads one kind of Chinese is served better by another. */
function spoken(tag: string): Language | undefined {
  if (tag.length > MAX_TAG) return undefined;
  const [primary = ""] = tag.toLowerCase().split(/[-_]/);
  return LANGUAGES.find((language) => language.split("-")[0] === primary);
}

/** The text in another language, or the English text itself where it has no translation. */
export type Translate = (text: string) => string;

/** One translated text in a file of `src/data/i18n`, by the name of what it belongs to. */
export interface TranslatedText {
  /** Of the English text: a text that has changed is not translated any more. */
  readonly source: string;
  readonly text: string;
}

export const TRANSLATIONS = join(import.meta.dirname, "../data/i18n");

/** The first 8 hex digits of SHA-256: what a translation names its English text by. */
export function sourceHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** Every translation of a language, by the file and the name of what it belongs to. */
export function readTranslations(language: Language): Map<string, TranslatedText> {
  const texts = new Map<string, TranslatedText>();
  const folder = join(TRANSLATIONS, language);
  for (const file of globSync("**/*.json", { cwd: folder }).sort()) {
    const entries = JSON.parse(readFileSync(join(folder, file), "utf8")) as object;
    for (const [name, entry] of Object.entries(entries))
      texts.set(`${file}#${name}`, entry as TranslatedText);
  }
  return texts;
}

const english: Translate = (text) => text;

/**
 * Translates texts. The files of a language are read when somebody first asks for it: most sites are
 * read in one language.
 */
export function createTranslations(): (language: Language) => Translate {
  return memoize((language) => (language === "en" ? english : createTranslate(language)));
}

function createTranslate(language: Language): Translate {
  const bySource = new Map<string, string>();
  for (const { source, text } of readTranslations(language).values()) bySource.set(source, text);
  return (text) => (text === "" ? "" : (bySource.get(sourceHash(text)) ?? text));
}
