import type { ConfigItem } from "./driver-info.ts";
import { defaultOf, holdsText, readText, type Scalar } from "./item-value.ts";

/** Parsed `show_when` text. */
export interface Condition {
  /** Name of the item that determines the visibility. */
  readonly item: string;
  /** Values of that item, as text, for which the conditional item is shown. */
  readonly values: readonly string[];
}

/** Step of a condition, with values in the JSON type of its item. */
export interface Step {
  readonly item: ConfigItem;
  readonly values: readonly Scalar[];
}

/** Parses `item=value|value`; undefined for other texts. */
export function parseCondition(text: string): Condition | undefined {
  const [, item, values] = /^([A-Za-z]\w*)=(.*)$/s.exec(text) ?? [];
  if (item === undefined || values === undefined) return undefined;
  return { item, values: values.split("|") };
}

/**
 * All conditions for showing an item: its own, that of the item it depends on, and so on, because
 * items that depend on a hidden one are hidden. Empty: always shown.
 *
 * @param items - all items of the driver by name. Driver files with cyclic conditions are
 *   rejected; if there is a cycle nevertheless, the function stops there.
 */
export function stepsOf(item: ConfigItem, items: ReadonlyMap<string, ConfigItem>): Step[] {
  const steps: Step[] = [];
  const seen = new Set([item.name]);
  let condition = parseCondition(item.showWhen);
  while (condition !== undefined && !seen.has(condition.item)) {
    const other = items.get(condition.item);
    if (other === undefined) break;
    seen.add(other.name);
    const values = condition.values.map((text) => readText(other, text));
    steps.push({ item: other, values: values.filter((value) => value !== undefined) });
    condition = parseCondition(other.showWhen);
  }
  return steps;
}

/** Value of an absent item in a condition: its default, or empty text. */
export function absentValueOf(item: ConfigItem): Scalar | undefined {
  return defaultOf(item) ?? (holdsText(item) ? "" : undefined);
}

/** Reports whether an item with these conditions is shown, given the values of other items. */
export function isShown(steps: readonly Step[], given: ReadonlyMap<string, unknown>): boolean {
  return steps.every(({ item, values }) => {
    const value = given.has(item.name) ? given.get(item.name) : absentValueOf(item);
    return values.some((shown) => shown === value);
  });
}
