import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Language } from "./language.ts";

/** The text in another language, or the English text itself where it has no translation. */
export type Translate = (text: string) => string;

/** One translated text in a file of `src/data/i18n`, by the name of what it belongs to. */
export interface TranslatedText {
  /** Of the English text: a text that has changed is not translated any more. */
  readonly source: string;
  readonly text: string;
}

export const TRANSLATIONS = join(import.meta.dirname, "../../data/i18n");

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
  const made = new Map<Language, Translate>([["en", english]]);
  return (language) => {
    const translate = made.get(language) ?? createTranslate(language);
    made.set(language, translate);
    return translate;
  };
}

function createTranslate(language: Language): Translate {
  const bySource = new Map<string, string>();
  for (const { source, text } of readTranslations(language).values()) bySource.set(source, text);
  return (text) => (text === "" ? "" : (bySource.get(sourceHash(text)) ?? text));
}
