import type { Translate } from "../messages/language.ts";
import { type ConfigItem, type DriverInfo, itemsOf } from "./driver-info.ts";
import {
  alternativesOf,
  boundsOf,
  choicesOf,
  defaultOf,
  holdsText,
  type Scalar,
} from "./item-value.ts";
import { absentValueOf, type Step, stepsOf } from "./show-when.ts";
import { longestOf } from "./validate.ts";

/** A JSON value: schemas are plain data. */
type Json = Scalar | readonly Json[] | { readonly [member: string]: Json };

/** A JSON object. */
export type JsonObject = Record<string, Json>;

/**
 * JSON Schema (draft 2020-12) of a configuration of this driver: one flat object with common and
 * additional items. It accepts exactly the configurations in which `validateDriverConfig` finds no
 * violation.
 *
 * Every item is in `properties`, so that form libraries without conditions show it too; conditional
 * requirements use `if` and `then`. In addition to the standard's keywords there are `x-unit`,
 * `x-option-labels` and `x-families`, and every property has one type.
 */
export function driverJsonSchema(
  driver: DriverInfo,
  translate: Translate = (text) => text,
): JsonObject {
  const items = itemsOf(driver);
  const byName = new Map(items.map((item) => [item.name, item]));
  const properties = items.map((item) => [item.name, propertyOf(item, translate)] as const);
  const always = items.filter((item) => isUnconditional(item) && mustBeGiven(item));
  const rules = conditionalRules(items, byName);
  const alert = driver.config.alert.replace(/^[a-z]+\|/, "");
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: driver.label,
    ...(alert === "" ? {} : { description: alert }),
    type: "object",
    properties: Object.fromEntries(properties),
    ...(always.length === 0 ? {} : { required: always.map(({ name }) => name) }),
    additionalProperties: false,
    ...joined(rules),
  };
}

function propertyOf(item: ConfigItem, translate: Translate): JsonObject {
  const choices = choicesOf(item);
  const initial = defaultOf(item);
  const description = descriptionOf(item, translate);
  return {
    title: item.label,
    ...(description === "" ? {} : { description }),
    ...typeOf(item),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(initial === undefined ? {} : { default: initial }),
    ...(item.secret ? { writeOnly: true } : {}),
    ...(item.unit === "" ? {} : { "x-unit": item.unit }),
    ...(item.optionLabels.length === 0 ? {} : { "x-option-labels": item.optionLabels }),
    ...(item.families.length === 0 ? {} : { "x-families": item.families }),
  };
}

function typeOf(item: ConfigItem): JsonObject {
  if (item.type === "bool") return { type: "boolean" };
  if (!holdsText(item)) {
    const { min, max } = boundsOf(item);
    return {
      type: item.type === "number" ? "integer" : "number",
      ...(min === undefined ? {} : { minimum: min }),
      ...(max === undefined ? {} : { maximum: max }),
    };
  }
  const mustHaveText = item.required && isUnconditional(item);
  return {
    type: "string",
    ...(mustHaveText ? { minLength: 1 } : {}),
    // The options already limit the length.
    ...(item.options === "" ? { maxLength: longestOf(item) } : {}),
  };
}

/** Help text, with the item's condition in words for forms that always show the item. */
function descriptionOf(item: ConfigItem, translate: Translate): string {
  const [other = "", values = ""] = item.showWhen.split(/=(.*)/s);
  if (item.showWhen === "") return item.description;
  const named = values.split("|").map((value) => (value === "" ? translate("empty") : value));
  const condition = translate(MATTERS)
    .replace("{item}", other)
    .replace("{values}", named.join(translate(" or ")));
  return `${item.description}${condition}`.trimStart();
}

const MATTERS = " Applies only while {item} is {values}.";

/** Texts that occur only in schemas, for the translations. */
export const SCHEMA_TEXTS = [MATTERS, "empty", " or "];

/** Reports whether an item is required and has no default. */
function mustBeGiven(item: ConfigItem): boolean {
  return item.required && defaultOf(item) === undefined;
}

/** Reports whether the requirement of an item has no condition. */
function isUnconditional({ showWhen, requiredUnless }: ConfigItem): boolean {
  return showWhen === "" && requiredUnless === "";
}

/** Creates one rule per condition of required items. */
function conditionalRules(
  items: readonly ConfigItem[],
  byName: ReadonlyMap<string, ConfigItem>,
): JsonObject[] {
  const demanding = items.filter(
    (item) => !isUnconditional(item) && item.required && (mustBeGiven(item) || holdsText(item)),
  );
  const groups = Map.groupBy(demanding, (item) => `${item.showWhen}\0${item.requiredUnless}`);
  return [...groups.values()].map((group) => {
    const [first] = group as [ConfigItem, ...ConfigItem[]];
    const conditions = [
      ...(first.showWhen === "" ? [] : [shown(stepsOf(first, byName))]),
      ...alternativesOf(first).map((name) => ({ not: hasText(name) })),
    ];
    const [only = {}, ...others] = conditions;
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name; a schema is never awaited.
    return { if: others.length === 0 ? only : { allOf: conditions }, then: demand(group) };
  });
}

/** Holds when an item has a text that is not empty. */
function hasText(name: string): JsonObject {
  return { required: [name], properties: { [name]: { type: "string", minLength: 1 } } };
}

/**
 * Combines all rules. Several are nested under a condition that is always true, because some form
 * libraries (JSON Forms) treat a top-level `allOf` as the whole form and then show no properties.
 */
function joined(rules: readonly JsonObject[]): JsonObject {
  if (rules.length < 2) return { ...rules[0] };
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name; a schema is never awaited.
  return { if: true, then: { allOf: rules } };
}

/** Holds when an item with these steps is shown. An absent item counts as its default. */
function shown(steps: readonly Step[]): JsonObject {
  const present = steps.filter(({ item, values }) => {
    const absent = absentValueOf(item);
    return absent === undefined || !values.includes(absent);
  });
  return {
    properties: Object.fromEntries(
      steps.map(({ item, values }) => [item.name, { enum: [...new Set(values)] }]),
    ),
    ...(present.length === 0 ? {} : { required: present.map(({ item }) => item.name) }),
  };
}

/**
 * Rule that items are required, with bare types, because strict validators require a description of
 * each required name.
 */
function demand(items: readonly ConfigItem[]): JsonObject {
  const given = items.filter(mustBeGiven).map(({ name }) => name);
  const types = items.map(({ name, type }): [string, JsonObject] => {
    if (type === "number") return [name, { type: "integer" }];
    return [name, type === "float" ? { type: "number" } : { type: "string", minLength: 1 }];
  });
  return {
    ...(given.length === 0 ? {} : { required: given }),
    properties: Object.fromEntries(types),
  };
}
