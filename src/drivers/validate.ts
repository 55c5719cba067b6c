import { isObject } from "../is-object.ts";
import type { Violation } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { type ConfigItem, type DriverInfo, itemsOf } from "./driver-info.ts";
import {
  alternativesOf,
  boundsOf,
  choicesOf,
  defaultOf,
  holdsText,
  readText,
  type Scalar,
} from "./item-value.ts";
import { LIMITS, lengthOf } from "./limits.ts";
import { kindOf } from "./shape.ts";
import { isShown, stepsOf } from "./show-when.ts";

/** Result of checking a configuration against a driver. */
export interface ValidationResult {
  /** Empty: the configuration is valid. `field` is the item's name. */
  readonly violations: readonly Violation[];
  /**
   * Valid values, and defaults of items that were not given, in the order of the form. Items
   * without either are absent, as are invalid ones.
   */
  readonly values: Readonly<Record<string, Scalar>>;
  /** The same values as text, in the notation of defaults in templates. */
  readonly textValues: Readonly<Record<string, string>>;
}

/**
 * Checks a configuration, common and additional items in one object, in JSON types: text for
 * string, text and select, a number for number (whole) and float, true or false for bool. It
 * accepts exactly the configurations that `driverJsonSchema` describes.
 *
 * - A required item must be given unless it has a default (a bool always has one: false), and
 *   must not be empty text. This applies only while the item is shown.
 * - The value of a hidden item is kept and must have the right type, but may be missing or empty:
 *   a value remains valid when its item becomes hidden.
 * - An unknown item is a violation, and so is null.
 *
 * No description quotes a value, because it may be a secret.
 */
export function validateDriverConfig(driver: DriverInfo, given: unknown): ValidationResult {
  if (!isObject(given)) {
    const description = message("VALUES_INVALID", { kind: kindOf(given) });
    return { violations: [{ field: "values", description }], values: {}, textValues: {} };
  }
  const items = new Map(itemsOf(driver).map((item) => [item.name, item]));
  const values = new Map(Object.entries(given));
  const violations = unknownItems(values, items);
  const right = new Map<string, Scalar>();
  for (const item of items.values()) {
    const outcome = judge(item, values, items);
    if (outcome.description !== undefined) {
      violations.push({ field: item.name, description: outcome.description });
    } else if (outcome.value !== undefined) {
      right.set(item.name, outcome.value);
    }
  }
  return {
    violations: violations.slice(0, LIMITS.violations),
    values: Object.fromEntries(right),
    textValues: Object.fromEntries([...right].map(([name, value]) => [name, String(value)])),
  };
}

/**
 * Converts a configuration with text values, such as that of a form, to JSON types. Empty text for
 * a number or a bool means "not given". Invalid text stays text, which `validateDriverConfig`
 * reports.
 */
export function typedValues(
  driver: DriverInfo,
  given: Readonly<Record<string, string>>,
): Record<string, Scalar> {
  const items = new Map(itemsOf(driver).map((item) => [item.name, item]));
  const typed = Object.entries(given).flatMap(([name, text]): [string, Scalar][] => {
    const item = items.get(name);
    if (item === undefined || holdsText(item)) return [[name, text]];
    return text === "" ? [] : [[name, readText(item, text) ?? text]];
  });
  return Object.fromEntries(typed);
}

function unknownItems(
  values: ReadonlyMap<string, unknown>,
  items: ReadonlyMap<string, ConfigItem>,
): Violation[] {
  const violations: Violation[] = [];
  for (const name of values.keys()) {
    if (items.has(name)) continue;
    const description = message("ITEM_UNKNOWN", { hint: didYouMean(name, items.keys()) });
    violations.push({ field: name.slice(0, LIMITS.name).toWellFormed(), description });
    if (violations.length === LIMITS.violations) break;
  }
  return violations;
}

interface Outcome {
  readonly value?: Scalar;
  readonly description?: Text;
}

function judge(
  item: ConfigItem,
  values: ReadonlyMap<string, unknown>,
  items: ReadonlyMap<string, ConfigItem>,
): Outcome {
  const value = values.has(item.name) ? values.get(item.name) : defaultOf(item);
  const empty = value === undefined || value === "";
  if (
    empty &&
    item.required &&
    isShown(stepsOf(item, items), values) &&
    !isReplaced(item, values)
  ) {
    return { description: value === undefined ? message("ITEM_REQUIRED") : message("ITEM_EMPTY") };
  }
  if (value === undefined) return {};
  const description = describe(item, value);
  return description === undefined ? { value: value as Scalar } : { description };
}

/** Reports whether an alternative of the item has a value. */
function isReplaced(item: ConfigItem, values: ReadonlyMap<string, unknown>): boolean {
  return alternativesOf(item).some((name) => {
    const value = values.get(name);
    return typeof value === "string" && value !== "";
  });
}

/** Returns the problem of a single value. */
function describe(item: ConfigItem, value: unknown): Text | undefined {
  const wrongType = describeType(item, value);
  if (wrongType !== undefined) return wrongType;
  const choices = choicesOf(item);
  if (choices !== undefined && !choices.includes(value as Scalar)) {
    const named = choices.map((choice) => (choice === "" ? "(empty)" : String(choice)));
    return message("ITEM_OPTION_INVALID", { options: named.join(", ") });
  }
  if (typeof value === "number") return describeBounds(item, value);
  return typeof value === "string" ? describeLength(item, value) : undefined;
}

function describeType(item: ConfigItem, value: unknown): Text | undefined {
  if (holdsText(item)) {
    return typeof value === "string"
      ? undefined
      : message("ITEM_NOT_TEXT", { kind: kindOf(value) });
  }
  if (item.type === "bool") {
    return typeof value === "boolean"
      ? undefined
      : message("BOOLEAN_INVALID", { instead: message("NOT_VALUE", { value: kindOf(value) }) });
  }
  const isWhole = item.type === "number";
  if (typeof value !== "number")
    return message(isWhole ? "ITEM_NOT_INTEGER" : "ITEM_NOT_NUMBER", { kind: kindOf(value) });
  const fits = isWhole ? Number.isInteger(value) : Number.isFinite(value);
  return fits ? undefined : message(isWhole ? "ITEM_FRACTION" : "ITEM_NO_NUMBER");
}

function describeBounds(item: ConfigItem, value: number): Text | undefined {
  const { min, max } = boundsOf(item);
  if (min !== undefined && value < min) return message("ITEM_TOO_SMALL", { bound: min });
  if (max !== undefined && value > max) return message("ITEM_TOO_LARGE", { bound: max });
  return undefined;
}

function describeLength(item: ConfigItem, value: string): Text | undefined {
  if (!value.isWellFormed()) return message("SURROGATE");
  const most = longestOf(item);
  return value.length > most && lengthOf(value) > most
    ? message("ITEM_TOO_LONG", { most })
    : undefined;
}

/** Maximum length of a value of this item, in code points. */
export function longestOf(item: ConfigItem): number {
  return item.type === "text" ? LIMITS.longValue : LIMITS.value;
}
