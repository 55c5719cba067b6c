import { didYouMean } from "../messages/nearest.ts";
import type { ConfigItem } from "./driver-info.ts";
import { boundsOf, choicesOf, optionsOf, readText } from "./item-value.ts";
import { parseCondition } from "./show-when.ts";

/** Violation of a rule: the member, and the reason. */
export interface Breach {
  readonly member: "name" | "default" | "options" | "min" | "max" | "secret" | "show_when";
  readonly reason: string;
}

/**
 * Defaults of built-in drivers that are intentionally not among their options: existing sites have
 * storages with these values.
 */
const KEPT_DEFAULTS: ReadonlySet<string> = new Set([
  "115 Cloud/qrcode_source",
  "115 Share/qrcode_source",
]);

/** Checks that options, default and bounds of an item fit its type. */
export function checkItem(item: ConfigItem, driver: string): Breach[] {
  const breaches = [...checkOptions(item), ...checkBounds(item), ...checkSecret(item)];
  // The default is checked against options and bounds, which must be valid first.
  return breaches.length > 0 ? breaches : checkDefault(item, driver);
}

function checkOptions(item: ConfigItem): Breach[] {
  const options = optionsOf(item);
  if (item.type === "select" && options.length === 0) {
    return [{ member: "options", reason: "must list the values of a select, separated by commas" }];
  }
  if (options.length === 0) return [];
  if (!["select", "number", "float"].includes(item.type)) {
    return [{ member: "options", reason: `has no effect for type ${item.type}: make it a select` }];
  }
  const twice = options.find((option, index) => options.indexOf(option) !== index);
  if (twice !== undefined) {
    return [{ member: "options", reason: `has the option "${twice}" twice` }];
  }
  const padded = options.find((option) => option.trim() !== option);
  if (padded !== undefined) {
    return [{ member: "options", reason: `has spaces around the option "${padded.trim()}"` }];
  }
  const unread = options.find((option) => readText(item, option) === undefined);
  if (unread === undefined) return [];
  return [{ member: "options", reason: `has "${unread}", which is not ${nounOf(item)}` }];
}

function checkBounds(item: ConfigItem): Breach[] {
  const given = (["min", "max"] as const).filter((member) => item[member] !== undefined);
  const numeric = item.type === "number" || item.type === "float";
  if (!numeric) {
    return given.map((member) => ({
      member,
      reason: `has no effect for type ${item.type}: only number and float have bounds`,
    }));
  }
  const wrong = given.filter(
    (member) => item.type === "number" && !Number.isSafeInteger(item[member]),
  );
  if (wrong.length > 0) {
    return wrong.map((member) => ({ member, reason: "must be a whole number, as the type is" }));
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = item;
  return min > max ? [{ member: "min", reason: `must not be more than max (${max})` }] : [];
}

function checkSecret(item: ConfigItem): Breach[] {
  if (!item.secret || item.type === "string" || item.type === "text") return [];
  return [{ member: "secret", reason: `is for text only, not for type ${item.type}` }];
}

function checkDefault(item: ConfigItem, driver: string): Breach[] {
  if (item.default === "") return [];
  const value = readText(item, item.default);
  if (value === undefined) {
    return [{ member: "default", reason: `must be ${nounOf(item)}, written as text` }];
  }
  const { min, max } = boundsOf(item);
  if (min !== undefined && typeof value === "number" && value < min) {
    return [{ member: "default", reason: `must not be less than min (${min})` }];
  }
  if (max !== undefined && typeof value === "number" && value > max) {
    return [{ member: "default", reason: `must not be more than max (${max})` }];
  }
  const choices = choicesOf({ ...item, default: "" });
  if (choices === undefined || choices.includes(value)) return [];
  if (KEPT_DEFAULTS.has(`${driver}/${item.name}`)) return [];
  return [{ member: "default", reason: `must be one of the options ${item.options}` }];
}

/** Name of an item's value type in messages. */
function nounOf(item: ConfigItem): string {
  const nouns = { bool: "true or false", number: "a whole number", float: "a decimal number" };
  return nouns[item.type as keyof typeof nouns] ?? "text";
}

/**
 * Checks that a condition names another item of the driver with possible values of it, without
 * cycles.
 */
export function checkCondition(
  item: ConfigItem,
  items: ReadonlyMap<string, ConfigItem>,
): Breach | undefined {
  if (item.showWhen === "") return undefined;
  const reason = conditionReason(item, items);
  return reason === undefined ? undefined : { member: "show_when", reason };
}

function conditionReason(
  item: ConfigItem,
  items: ReadonlyMap<string, ConfigItem>,
): string | undefined {
  const condition = parseCondition(item.showWhen);
  if (condition === undefined) return "must have the form item=value or item=value|value";
  if (condition.item === item.name) return "must name another item, not its own";
  const other = items.get(condition.item);
  if (other === undefined) {
    const hint = didYouMean(condition.item, items.keys());
    return `names "${condition.item}", which is not an item of this driver.${hint}`;
  }
  const impossible = condition.values.find((text) => !canHave(other, text));
  if (impossible !== undefined) {
    return `waits for "${impossible}", which ${other.name} can't have`;
  }
  return closesCycle(item, items)
    ? "depends on items that depend on this one (circular)"
    : undefined;
}

function canHave(item: ConfigItem, text: string): boolean {
  const value = readText(item, text);
  if (value === undefined) return false;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = boundsOf(item);
  if (typeof value === "number" && (value < min || value > max)) return false;
  return choicesOf(item)?.includes(value) ?? true;
}

function closesCycle(item: ConfigItem, items: ReadonlyMap<string, ConfigItem>): boolean {
  const seen = new Set<string>();
  let next = parseCondition(item.showWhen)?.item;
  while (next !== undefined && !seen.has(next)) {
    if (next === item.name) return true;
    seen.add(next);
    next = parseCondition(items.get(next)?.showWhen ?? "")?.item;
  }
  return false;
}
