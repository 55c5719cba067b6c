import { fitsGlob } from "../database/glob.ts";
import { type Message, message } from "../messages/message.ts";
import type { Site } from "./site.ts";

/**
 * Creates a function that reports whether a site's patterns select a setting; excluding patterns take
 * precedence.
 */
export function createSelection({ include, exclude }: Pick<Site, "include" | "exclude">) {
  const included = include.map(readPattern);
  const excluded = exclude.map(readPattern);
  return (key: string, group: number): boolean => {
    const matches = (pattern: Pattern): boolean => pattern(key, group);
    if (excluded.some(matches)) return false;
    return included.length === 0 || included.some(matches);
  };
}

/** Reports whether a pattern matches a setting. */
type Pattern = (key: string, group: number) => boolean;

function readPattern(text: string): Pattern {
  const group = /^group:(-?\d{1,10})$/.exec(text)?.[1];
  if (group !== undefined) return (_key, number) => number === Number(group);
  const parts = text.split("*");
  return (key) => fitsGlob(parts, key);
}

/** Returns the problem of a pattern; undefined: none. */
export function checkPattern(text: string): Message | undefined {
  if (text === "" || text.length > 255) return message("PATTERN_LENGTH");
  if (text.startsWith("group:") && !/^group:-?\d{1,10}$/.test(text))
    return message("PATTERN_GROUP_INVALID");
  if (/[\s,]/.test(text)) return message("PATTERN_WITH_SPACE");
  return undefined;
}
