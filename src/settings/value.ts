import { message, type Text } from "../messages/message.ts";
import type { SettingDefinition } from "./definition.ts";
import { quoted } from "./format/format.ts";
import { formatOf } from "./format/registry.ts";

/** Default maximum size of a value, in UTF-8 bytes. */
const MAX_VALUE_BYTES = 1_048_576;
/** Maximum length of a number, in characters. */
const MAX_NUMBER_LENGTH = 32;

/** Text shown in place of a secret value. */
export const MASK = "********";

/** Part of a definition that {@link checkValue} and the other functions need. */
export type ValueDefinition = Pick<
  SettingDefinition,
  "type" | "options" | "default" | "secret" | "decimal" | "min" | "max" | "unit" | "format"
>;

/**
 * Checks a value against its setting's definition: size and characters, type, options, bounds,
 * format. Expects a result of {@link normalizeValue}.
 *
 * @param maxBytes maximum size in UTF-8 bytes.
 *
 * @returns the problem and the valid form, as the end of a sentence that begins with the key;
 *   undefined: valid. It never quotes a secret value.
 */
export function checkValue(
  definition: ValueDefinition,
  value: string,
  maxBytes = MAX_VALUE_BYTES,
): Text | undefined {
  return (
    checkText(value, maxBytes) ?? checkType(definition, value) ?? checkFormat(definition, value)
  );
}

/**
 * Normalizes a value before it is checked and stored. Web pages send typed or pasted text, so white
 * space around numbers, addresses and items of lists is removed; everything else stays unchanged.
 */
export function normalizeValue(definition: ValueDefinition, value: string): string {
  if (definition.type === "number") return value.trim();
  const normalize = definition.format && formatOf(definition.format).normalize;
  return normalize === undefined ? value : normalize(value);
}

/**
 * Like {@link normalizeValue}, for a value stored by another server. Existing servers of this API
 * store values as sent and read them leniently: 1 as true, any other text but true as false, and an
 * empty number as the default.
 */
export function normalizeStoredValue(definition: ValueDefinition, value: string): string {
  const normal = normalizeValue(definition, value);
  if (definition.type === "number" && normal === "") return definition.default;
  if (definition.type !== "bool") return normal;
  return { "1": "true", "0": "false", "": "false" }[normal] ?? normal;
}

/**
 * Checks the rules for all stored text.
 *
 * @param maxBytes - maximum size in UTF-8 bytes.
 */
export function checkText(text: string, maxBytes = MAX_VALUE_BYTES): Text | undefined {
  // A text has at least as many bytes as UTF-16 units, so a longer text needs no byte count.
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text);
  if (bytes > maxBytes) return message("TOO_MANY_BYTES", { bytes: maxBytes });
  if (text.includes("\0")) return message("NUL_CHARACTER");
  return text.isWellFormed() ? undefined : message("SURROGATE");
}

function checkType(definition: ValueDefinition, value: string): Text | undefined {
  switch (definition.type) {
    case "number":
      return checkNumber(definition, value);
    case "bool":
      return value === "true" || value === "false"
        ? undefined
        : message("BOOLEAN_INVALID", { instead: not(definition, value) });
    case "select":
      return checkOption(definition, value);
    default:
      return undefined;
  }
}

function checkNumber(definition: ValueDefinition, value: string): Text | undefined {
  const { decimal, unit } = definition;
  const form = decimal ? /^-?(?:\d+(?:\.\d+)?|\.\d+)$/ : /^-?\d+$/;
  if (value.length > MAX_NUMBER_LENGTH || !form.test(value))
    return message(decimal ? "NUMBER_INVALID" : "INTEGER_INVALID", {
      example: definition.default || "30",
      instead: not(definition, value),
    });
  // Beyond these, whole numbers lose digits in JavaScript and in JSON.
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = definition;
  const number = Number(value);
  if (number < min)
    return message("TOO_SMALL", { bound: withUnit(min, unit), instead: not(definition, value) });
  if (number > max)
    return message("TOO_LARGE", { bound: withUnit(max, unit), instead: not(definition, value) });
  return undefined;
}

function checkOption(definition: ValueDefinition, value: string): Text | undefined {
  // The options are data of each site.
  if (definition.options === "") return undefined;
  const options = definition.options.split(",");
  if (options.includes(value)) return undefined;
  // A select with an empty default may be empty again.
  if (value === "" && definition.default === "") return undefined;
  return message("OPTION_INVALID", {
    options: options.join(", "),
    instead: not(definition, value),
  });
}

function checkFormat({ format }: ValueDefinition, value: string): Text | undefined {
  return format && formatOf(format).check(value);
}

function withUnit(number: number, unit: string | undefined): string {
  return unit === undefined ? String(number) : `${number} ${unit}`;
}

function not({ secret }: ValueDefinition, value: string): Text {
  return secret ? "" : message("NOT_VALUE", { value: quoted(value) });
}
