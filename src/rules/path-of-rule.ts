import { memoize } from "../memoize.ts";
import { toNfc } from "../nfc.ts";
import { cleanPath } from "../sites/site-path.ts";
import type { Rule } from "./rule.ts";

/**
 * Creates a function that returns the path of the rule that a request names. Unicode
 * normalizations count as equal in requests, and are kept as they are stored: the name of a folder
 * on a server has one of them. The path of no rule is cleaned.
 */
export function pathOfRule(rules: () => ReadonlyMap<string, Rule>): (text: string) => string {
  return (text) => {
    if (text === "") return text;
    const path = cleanPath(text);
    const all = rules();
    return all.has(path) ? path : (byNormalForm(all).get(toNfc(path)) ?? path);
  };
}

const byNormalForm = memoize(
  (rules: ReadonlyMap<string, Rule>) =>
    new Map([...rules.keys()].map((path) => [toNfc(path), path])),
);
