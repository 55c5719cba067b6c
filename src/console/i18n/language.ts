import { signal } from "@preact/signals";
import { en } from "./en.ts";
import type { MessageKey, Messages } from "./messages.ts";
import { CHOSEN_LANGUAGE, type Language } from "./preferred.ts";

/** Each language by its own name. */
export const languages: Readonly<Record<Language, string>> = { en: "English", "zh-CN": "中文" };

export type Parameters = Readonly<Record<string, string | number | bigint>>;

/** English messages: those of the first page, completed by addMessages as other pages load. */
const english = { ...en } as Messages;
const messages = signal<Messages>(english);

export const language = signal<Language>("en");

/**
 * Changes the language: of calls and numbers immediately, of texts when they are loaded. English is
 * always loaded; if another language cannot be loaded, English is used.
 */
export async function setLanguage(wanted: Language): Promise<void> {
  language.value = wanted;
  document.documentElement.lang = wanted;
  const words =
    wanted === "en" ? english : await import("./zh-cn.ts").then(wordsOf, () => undefined);
  // Another was chosen meanwhile.
  if (language.peek() !== wanted) return;
  if (words === undefined) return setLanguage("en");
  messages.value = words;
}

function wordsOf({ zhCn }: typeof import("./zh-cn.ts")): Messages {
  return zhCn;
}

/** Adds English messages that are loaded with a page. The page's module calls it before it is shown. */
export function addMessages(...groups: readonly Partial<Messages>[]): void {
  Object.assign(english, ...groups);
}

/** Sets the language, and stores it for the next visit. */
export async function chooseLanguage(wanted: Language): Promise<void> {
  localStorage.setItem(CHOSEN_LANGUAGE, wanted);
  await setLanguage(wanted);
}

/**
 * Caches an object per language, because Intl objects are expensive to create.
 *
 * @returns a function that returns the object of the current language.
 */
export function perLanguage<T>(make: (language: Language) => T): () => T {
  const made = new Map<Language, T>();
  return () => {
    const now = language.value;
    const known = made.get(now) ?? make(now);
    made.set(now, known);
    return known;
  };
}

const plurals = perLanguage((spoken) => new Intl.PluralRules(spoken));
const numbers = perLanguage((spoken) => new Intl.NumberFormat(spoken));

/**
 * A number as the language writes it. Numbers below 1,000 look the same in all
 * supported languages, and the first `NumberFormat` takes 100 ms on a phone.
 */
export function number(value: number | bigint): string {
  const isPlain = value >= 0 && value < 1_000 && Number.isInteger(Number(value));
  return isPlain ? String(value) : numbers().format(value);
}

/** Text in the language of the page; `{name}` in it is a parameter. */
export function t(key: MessageKey, parameters: Parameters = {}): string {
  const message = messages.value[key];
  const form = typeof message === "string" ? message : message[formOf(parameters["count"])];
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = parameters[name];
    if (value === undefined) return whole;
    return typeof value === "string" ? value : number(value);
  });
}

function formOf(count: string | number | bigint | undefined): "one" | "other" {
  return plurals().select(Number(count ?? 0)) === "one" ? "one" : "other";
}
