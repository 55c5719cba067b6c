import type { ConfigItem } from "./driver-info.ts";
import { LARGEST_WHOLE } from "./limits.ts";

/** Value in the JSON type of its item: text, number or boolean. */
export type Scalar = string | number | boolean;

const WHOLE = /^(?:0|-?[1-9]\d*)$/;
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Reports whether values of this item are text in JSON, so that empty text is a value too. */
export function holdsText(item: ConfigItem): boolean {
  return item.type === "string" || item.type === "text" || item.type === "select";
}

/**
 * Converts the text form of a value, as templates write defaults and options, to its JSON type.
 * Undefined for an invalid text: "1.5" for a whole number, "yes" for a bool.
 */
export function readText(item: ConfigItem, text: string): Scalar | undefined {
  switch (item.type) {
    case "bool":
      return text === "true" ? true : text === "false" ? false : undefined;
    case "number":
      return WHOLE.test(text) && Math.abs(Number(text)) <= LARGEST_WHOLE ? Number(text) : undefined;
    case "float":
      return DECIMAL.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined;
    default:
      return text;
  }
}

/**
 * Value of an item that is not given. A bool without a default is false. Undefined: the item is
 * omitted, or missing if it is required.
 */
export function defaultOf(item: ConfigItem): Scalar | undefined {
  if (item.type === "bool") return item.default === "true";
  return item.default === "" ? undefined : readText(item, item.default);
}

/** Names of the items that make a required item unnecessary while one of them has a value. */
export function alternativesOf({ requiredUnless }: Pick<ConfigItem, "requiredUnless">): string[] {
  return requiredUnless === "" ? [] : requiredUnless.split(",");
}

/** Options of an item as text, in order; empty: any value. */
export function optionsOf(item: Pick<ConfigItem, "options">): string[] {
  return item.options === "" ? [] : item.options.split(",");
}

/**
 * All values that an item with options may have; undefined: any value. In addition to the options:
 * - a default outside of the options (two built-in drivers have one, which existing storages
 *   use);
 * - the empty value of a select without a default, which means "not selected", unless the select
 *   is required (a hidden one may be empty nevertheless: see `validateDriverConfig`).
 */
export function choicesOf(item: ConfigItem): Scalar[] | undefined {
  if (item.options === "") return undefined;
  const choices = new Set<Scalar>();
  const mayBeEmpty = !item.required || item.showWhen !== "" || item.requiredUnless !== "";
  if (item.type === "select" && item.default === "" && mayBeEmpty) choices.add("");
  for (const option of optionsOf(item)) {
    const value = readText(item, option);
    if (value !== undefined) choices.add(value);
  }
  const initial = defaultOf(item);
  if (initial !== undefined) choices.add(initial);
  return [...choices];
}

/**
 * Minimum and maximum of an item's number; whole numbers are limited to those that JSON can
 * represent.
 */
export function boundsOf(item: ConfigItem): { min?: number; max?: number } {
  const whole = item.type === "number";
  const min = item.min ?? (whole ? -LARGEST_WHOLE : undefined);
  const max = item.max ?? (whole ? LARGEST_WHOLE : undefined);
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}

/**
 * Converts a value to the JSON type of an item where the conversion keeps it: `"7"` to 7, 0 and 1 to
 * a bool, a number to text. Undefined: another type, or a whole number that JSON cannot represent.
 */
export function scalarOf(value: unknown, type: ConfigItem["type"]): Scalar | undefined {
  switch (type) {
    case "bool":
      if (value === 0 || value === 1) return value === 1;
      if (value === "true" || value === "false") return value === "true";
      return typeof value === "boolean" ? value : undefined;
    case "number":
    case "float": {
      const isText = typeof value === "string" && DECIMAL.test(value);
      const number = isText ? Number(value) : value;
      if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
      if (Number.isInteger(number) && !Number.isSafeInteger(number)) return undefined;
      return type === "float" || Number.isInteger(number) ? number : undefined;
    }
    default:
      if (typeof value === "string") return value;
      return Number.isSafeInteger(value) ? String(value) : undefined;
  }
}
