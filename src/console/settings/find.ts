import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { isChanged } from "../../client/changed.ts";
import { memoize } from "../../memoize.ts";
import { aboutOf, isCustom, labelOf } from "./label.ts";

/** Marks for filters of settings. */
export const marks = ["edited", "set", "secret", "managed", "public", "custom"] as const;
export type Mark = (typeof marks)[number];

/** Search in settings. */
export interface Search {
  readonly text: string;
  /** Undefined: all groups. */
  readonly group: number | undefined;
  readonly marks: readonly Mark[];
  /** Keys with edits. */
  readonly edited: { has(key: string): boolean };
}

/** Finds settings with all words of the text in key, label, help or value, except secret values. */
export function find(among: Iterable<Setting>, { text, group, marks, edited }: Search): Setting[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Setting[] = [];
  for (const setting of among) {
    if (group !== undefined && setting.group !== group) continue;
    if (!marks.every((mark) => has(setting, mark, edited))) continue;
    const haystack = words.length === 0 ? "" : haystackOf(setting);
    if (words.every((word) => haystack.includes(word))) found.push(setting);
  }
  return found;
}

export function has(setting: Setting, mark: Mark, edited: Search["edited"]): boolean {
  switch (mark) {
    case "edited":
      return edited.has(setting.key);
    case "set":
      return isChanged(setting);
    case "secret":
      return setting.secret;
    case "managed":
      return setting.managed;
    case "public":
      return isPublic(setting);
    case "custom":
      return isCustom(setting);
  }
}

/**
 * Reports whether it can be read without a token (docs/rest-contract.md, section 2.4: flags 0 and
 * 2).
 */
export function isPublic({ flag }: Setting): boolean {
  return flag === 0 || flag === 2;
}

/** Maximum searched length of a value, in characters. */
const SEARCHED = 2_000;

/** Searched text of a setting. Each state of a setting is another object. */
const haystackOf = memoize((setting: Setting): string => {
  const { key, value, secret } = setting;
  const parts = [key, labelOf(setting), aboutOf(setting), secret ? "" : value.slice(0, SEARCHED)];
  return parts.join("\n").toLowerCase();
});
