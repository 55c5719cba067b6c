import { fitsGlob } from "../glob.ts";
import type { Site } from "./site.ts";

/** Whether a site takes part in a setting, by its patterns: the excluded ones go first. */
export function createSelection({ include, exclude }: Pick<Site, "include" | "exclude">) {
  const included = include.map(readPattern);
  const excluded = exclude.map(readPattern);
  return (key: string, group: number): boolean => {
    const fits = (pattern: Pattern): boolean => pattern(key, group);
    if (excluded.some(fits)) return false;
    return included.length === 0 || included.some(fits);
  };
}

type Pattern = (key: string, group: number) => boolean;

function readPattern(text: string): Pattern {
  const group = /^group:(-?\d{1,10})$/.exec(text)?.[1];
  if (group !== undefined) return (_key, of) => of === Number(group);
  const parts = text.split("*");
  return (key) => fitsGlob(parts, key);
}

/** What is wrong with a pattern; undefined when nothing is. */
export function checkPattern(text: string): string | undefined {
  if (text === "" || text.length > 255) return "has 1 to 255 characters";
  if (text.startsWith("group:") && !/^group:-?\d{1,10}$/.test(text))
    return "names a group by its number, such as group:9";
  if (/[\s,]/.test(text)) return "has no white space and no comma: write several patterns";
  return undefined;
}
