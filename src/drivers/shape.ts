import type { JsonPath } from "../files/json-source.ts";
import { isObject } from "../is-object.ts";
import { message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { lengthOf } from "./limits.ts";
import type { Finding } from "./problem.ts";

/** Returns the problem of a value (`must be …`), or undefined. */
export type Check = (value: unknown) => string | undefined;

/** Allowed members of an object, with the check of each. */
export type Shape = Readonly<Record<string, Check>>;

/** Checks one JSON object for unknown members and invalid values. */
export function checkShape(value: unknown, path: JsonPath, shape: Shape): Finding[] {
  if (!isObject(value)) return [{ path, reason: `must be an object, not ${kindOf(value)}` }];
  const findings: Finding[] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = [...path, name];
    const check = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (check === undefined) {
      const reason = `is not a member of this format.${didYouMean(name, Object.keys(shape))}`;
      findings.push({ path: at, reason, atName: true });
      continue;
    }
    const reason = check(member);
    if (reason !== undefined) findings.push({ path: at, reason });
  }
  return findings;
}

/** JSON type of a value, for messages. */
export function kindOf(value: unknown): Text {
  if (value === null) return "null";
  if (Array.isArray(value)) return message("KIND_ARRAY");
  const kinds: Record<string, Text> = {
    string: message("KIND_TEXT"),
    number: message("KIND_NUMBER"),
    boolean: value === true ? "true" : "false",
    object: message("KIND_OBJECT"),
  };
  return kinds[typeof value] ?? typeof value;
}

export const flag: Check = (value) =>
  typeof value === "boolean" ? undefined : `must be true or false, not ${kindOf(value)}`;

export const finiteNumber: Check = (value) =>
  typeof value === "number" && Number.isFinite(value)
    ? undefined
    : `must be a number, not ${kindOf(value)}`;

/** Check for text of at most `max` code points. */
export function textUpTo(max: number): Check {
  return (value) => {
    if (typeof value !== "string") return `must be text in double quotes, not ${kindOf(value)}`;
    // There are at most as many code points as UTF-16 units, so the cheap count decides most cases.
    if (value.length > max && lengthOf(value) > max) return `is longer than ${max} characters`;
    return undefined;
  };
}

/** Check for text that matches a whole pattern; `expected` describes the pattern. */
export function textLike(pattern: RegExp, max: number, expected: string): Check {
  const text = textUpTo(max);
  return (value) => text(value) ?? (pattern.test(value as string) ? undefined : expected);
}

export function oneOf(words: readonly string[]): Check {
  return (value) =>
    typeof value === "string" && words.includes(value)
      ? undefined
      : `must be one of ${words.join(", ")}`;
}
