import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { memoize } from "../memoize.ts";

/** Languages of texts for people, as BCP 47 tags; the first is that of the program itself. */
export const LANGUAGES = ["en", "zh-CN"] as const;

export type Language = (typeof LANGUAGES)[number];

/** Limits of a header of languages: its length in characters, and the number of languages. */
const MAX_LENGTH = 1_000;
const MAX_RANGES = 20;
/** Longest language tag that is read (RFC 5646, section 4.4.1, requires 35 characters). */
const MAX_TAG = 35;

/**
 * Chooses the language of an answer.
 *
 * @param asked language of the request itself, which takes precedence. An unsupported language
 *   means English.
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
  // The sort is stable: the first one of equal weights counts.
  const wanted = ranges.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  for (const { tag } of wanted) {
    const language = tag === "*" ? "en" : spoken(tag);
    if (language !== undefined) return language;
  }
  return "en";
}

/** Matches only the primary language: readers of any kind of Chinese prefer Chinese to English. */
function spoken(tag: string): Language | undefined {
  if (tag.length > MAX_TAG) return undefined;
  const [primary = ""] = tag.toLowerCase().split(/[-_]/);
  return LANGUAGES.find((language) => language.split("-")[0] === primary);
}

/** Translates a text; a text without a translation stays English. */
export type Translate = (text: string) => string;

/** Translated text in a file of `src/data/i18n`, by the name of its subject. */
export interface TranslatedText {
  /** Hash of the English text: the translation of a changed text is not used. */
  readonly source: string;
  readonly text: string;
}

export const TRANSLATIONS = join(import.meta.dirname, "../data/i18n");

/** First 8 hexadecimal digits of SHA-256, by which a translation identifies its English text. */
export function sourceHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** All translations of a language, by file and name of their subject. */
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
 * Translates texts. A process reads the files of a language once, at its first use: most sites use
 * one language.
 */
export function createTranslations(): (language: Language) => Translate {
  return translateTo;
}

const translateTo = memoize(
  (language: Language): Translate => (language === "en" ? english : createTranslate(language)),
);

function createTranslate(language: Language): Translate {
  const bySource = new Map<string, string>();
  for (const { source, text } of readTranslations(language).values()) bySource.set(source, text);
  return (text) => (text === "" ? "" : (bySource.get(sourceHash(text)) ?? text));
}
