export type Language = "en" | "zh-CN";

/** Key of the chosen language in the browser's storage. */
export const CHOSEN_LANGUAGE = "mooring.language";

/** The one that was chosen here before, or else the browser's. */
export function preferredLanguage(): Language {
  const chosen = localStorage.getItem(CHOSEN_LANGUAGE) ?? navigator.language;
  return chosen.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}
