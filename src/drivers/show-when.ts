import type { ConfigItem } from "./driver-info.ts";
import { defaultOf, holdsText, readText, type Scalar } from "./item-value.ts";

/** A `show_when` text taken apart. */
export interface Condition {
  /** The item that decides. */
  readonly item: string;
  /** Its values, as text, with which the conditional item is shown. */
  readonly values: readonly string[];
}

/** One step of a condition, with the values in the deciding item's JSON type. */
export interface Step {
  readonly item: ConfigItem;
  readonly values: readonly Scalar[];
}

/** Reads `item=value|value`. Undefined when the text is not of that form. */
export function parseCondition(text: string): Condition | undefined {
  const [, item, values] = /^([A-Za-z]\w*)=(.*)$/s.exec(text) ?? [];
  if (item === undefined || values === undefined) return undefined;
  return { item, values: values.split("|") };
}

/**
 * Everything that must hold for an item to be shown: its own condition, that of the item which
 * decides it, and so on (an item that hangs on a hidden one is hidden too). Empty: always shown.
 *
 * @param items - all items of the driver by name. Its conditions have no cycle: the check of driver
 * files refuses one; should there be one, the walk ends where it closes.
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

/** The value by which an absent item counts in a condition: its default, or empty text. */
export function absentValueOf(item: ConfigItem): Scalar | undefined {
  return defaultOf(item) ?? (holdsText(item) ? "" : undefined);
}

/** Reports whether an item with these steps is shown, given the values of the others. */
export function isShown(steps: readonly Step[], given: ReadonlyMap<string, unknown>): boolean {
  return steps.every(({ item, values }) => {
    const value = given.has(item.name) ? given.get(item.name) : absentValueOf(item);
    return values.some((shown) => shown === value);
  });
}
