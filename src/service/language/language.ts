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
