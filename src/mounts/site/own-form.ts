import type { Scalar } from "../../drivers/item-value.ts";
import { isFilledIn, isObfuscated, itemKind, rowMembersOf } from "./item-kind.ts";

/** A value that a site has right after a push of another one. */
export interface Unexpected {
  readonly driver: string;
  /** Item, or member of the row. */
  readonly name: string;
  readonly isMember: boolean;
  readonly sent: Scalar;
  readonly got: unknown;
  /** Whether another client has saved the row since the push; undefined: unknown. */
  readonly isSaved: boolean | undefined;
  /** Result of the push before, if it sent the same value. */
  readonly before: "none" | "same" | "other";
}

/**
 * Origin of an unexpected value.
 * - `driver`: its own form of the value, which counts as equal.
 * - `client`: another client has changed it in the meantime.
 * - `unknown`: the next push shows it. A driver makes the same form of the same value again.
 */
export type Origin = "driver" | "client" | "unknown";

/** Decides the origin of an unexpected value. */
export function originOf(value: Unexpected): Origin {
  const { driver, name, isMember, isSaved, before } = value;
  if (isSaved === true) return "client";
  if (isMember && !rowMembersOf(driver).has(name)) return "client";
  if (!isMember && isKnownForm(value)) return "driver";
  if (!isMember && itemKind(driver, name) === "content") return "client";
  if (before === "same") return "driver";
  // Some drivers make another form at each mount.
  return before === "other" && isSaved === false ? "driver" : "unknown";
}

/** Beginning of a text that a driver has obfuscated. */
const OBFUSCATED = "___Obfuscated___";

/** Reports whether a driver is known to make such a value of the sent one. */
function isKnownForm({ driver, name, sent, got }: Unexpected): boolean {
  if (isObfuscated(driver, name)) return typeof got === "string" && got.startsWith(OBFUSCATED);
  if (sent === "" || sent === 0 || sent === false) return isFilledIn(driver, name);
  return (
    typeof sent === "string" &&
    typeof got === "string" &&
    got.length < sent.length &&
    trimmed(got) === trimmed(sent)
  );
}

/** A text without white space and slashes at its ends. */
function trimmed(text: string): string {
  const isOuter = (at: number): boolean => " \t\r\n/".includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && isOuter(start)) start += 1;
  while (end > start && isOuter(end - 1)) end -= 1;
  return text.slice(start, end);
}
