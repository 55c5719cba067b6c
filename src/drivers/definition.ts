import { FAMILIES, type Family, isOffered, type Offer } from "../config/family.ts";
import type { Labels } from "../messages/label.ts";
import { didYouMean } from "../messages/nearest.ts";
import {
  COMMON_NAMES,
  type CommonItems,
  type CommonTraits,
  createCommonItems,
} from "./common-items.ts";
import type { ConfigItem, DriverInfo } from "./driver-info.ts";
import {
  checkDriverText,
  checkItemsByName,
  type DriverText,
  type ItemText,
  type SharedItemText,
} from "./file-format.ts";
import {
  alternativesOf,
  boundsOf,
  choicesOf,
  holdsText,
  optionsOf,
  readText,
} from "./item-value.ts";
import { checkOrders, offered } from "./offer.ts";
import { type Finding, parseSource, type SourceText, stopAt } from "./problem.ts";
import { parseCondition } from "./show-when.ts";

/**
 * Parses a driver file into a frozen template; undefined for a driver of a family that is not
 * offered.
 *
 * @throws DriverFileError with every problem of the file, each with line, column and member.
 */
export type DriverReader = (source: SourceText) => DriverInfo | undefined;

/**
 * @param data.shared - items that drivers reference by name (`src/data/shared-items.json`).
 * @param data.common - the common items (`src/data/common-items.json`).
 * @param data.offer - family whose drivers and items are offered.
 * @throws DriverFileError when one of the two files is invalid.
 */
export function createDriverReader(data: {
  shared: SourceText;
  common: SourceText;
  labels: Labels;
  offer: Offer;
}): DriverReader {
  const { labels, offer } = data;
  const shared = readSharedItems(data.shared);
  const commonItems = createCommonItems(readCommonItems(data.common, labels), labels);
  return (source) => {
    const json = parseSource(source);
    if (!source.checked) stopAt(checkDriverText(json.value), source, json);
    const whole = json.value as DriverText;
    if (!source.checked) stopAt(checkOrders(whole), source, json);
    if (!isOffered(whole.in_contract ? undefined : whole.families, offer)) return undefined;
    const text = offered(whole, offer);
    const findings: Finding[] = [];
    const traits = traitsOf(text, offer);
    const place = { labels, root: traits.defaultRoot, families: text.families ?? [] };
    const items = (text.additional ?? []).map((item, index) => {
      const path = ["additional", index];
      if (item.use !== undefined && !shared.has(item.use)) {
        const hint = didYouMean(item.use, shared.keys());
        findings.push({ path: [...path, "use"], reason: `is not a shared item.${hint}` });
      }
      return expand(item, shared.get(item.use ?? ""), place);
    });
    stopAt(findings, source, json);
    const info = assemble(text, traits, items, commonItems);
    if (!source.checked) stopAt(checkRules(info), source, json);
    return info;
  };
}

function traitsOf(text: DriverText, offer: Offer): CommonTraits {
  const config = text.config ?? {};
  return {
    name: text.name,
    localSort: config.local_sort ?? false,
    onlyLocal: config.only_local ?? false,
    onlyProxy: config.only_proxy ?? false,
    noCache: config.no_cache ?? false,
    noUpload: config.no_upload ?? false,
    needMs: config.need_ms ?? false,
    defaultRoot: config.default_root ?? "",
    alert: config.alert ?? "",
    onlyIndices: config.only_indices ?? false,
    preferProxy: config.prefer_proxy ?? false,
    noLinkUrl: text.no_link_url ?? false,
    proxyRange: text.proxy_range,
    offer,
  };
}

function assemble(
  { label, guide = "", families = [] }: DriverText,
  traits: CommonTraits,
  additional: readonly ConfigItem[],
  commonItems: CommonItems,
): DriverInfo {
  const { noLinkUrl: _, proxyRange: __, offer: ___, ...config } = traits;
  return Object.freeze({
    common: commonItems(traits),
    additional: Object.freeze(additional),
    config: Object.freeze(config),
    label: label ?? config.name,
    guide,
    families,
  });
}

function checkRules({ common, additional, config }: DriverInfo): Finding[] {
  const items = new Map(common.map((item) => [item.name, item]));
  const findings: Finding[] = [];
  for (const [index, item] of additional.entries()) {
    const earlier = items.get(item.name);
    if (earlier !== undefined) {
      const where = common.includes(earlier) ? "a common item of this driver" : "an earlier item";
      findings.push({
        path: ["additional", index],
        reason: `is named "${item.name}" like ${where}`,
      });
    }
    items.set(item.name, item);
  }
  for (const [index, item] of additional.entries()) {
    const condition = checkCondition(item, items);
    const breaches = [
      ...checkItem(item, config.name),
      ...(condition === undefined ? [] : [condition]),
      ...checkAlternatives(item, items),
    ];
    for (const { member, reason } of breaches) {
      findings.push({ path: ["additional", index, member], reason });
    }
  }
  return findings;
}

/** Reads the items that drivers reference by name. Their values are checked in each driver. */
function readSharedItems(source: SourceText): Map<string, SharedItemText> {
  const json = parseSource(source);
  stopAt(checkItemsByName(json.value), source, json);
  return new Map(Object.entries(json.value as Record<string, SharedItemText>));
}

/** Reads the common items: all of them, each valid by itself. */
function readCommonItems(source: SourceText, labels: Labels): Map<string, ConfigItem> {
  const texts = readSharedItems(source);
  const items = new Map<string, ConfigItem>();
  const place = { labels, root: "", families: FAMILIES };
  for (const [name, text] of texts)
    items.set(name, expand({ use: name, legacy_help: text.legacy_help ?? false }, text, place));
  const json = parseSource(source);
  const unknown = [...items.keys()].filter((name) => !COMMON_NAMES.some((known) => known === name));
  const absent = COMMON_NAMES.filter((name) => !items.has(name));
  const findings: Finding[] = [
    ...unknown.map((name) => ({ path: [name], reason: "is not a common item", atName: true })),
    ...absent.map((name) => ({ path: [name], reason: "is missing" })),
    ...[...items.values()].flatMap((item) =>
      checkItem(item, "").map(({ member, reason }) => ({ path: [item.name, member], reason })),
    ),
  ];
  stopAt(findings, source, json);
  return items;
}

/** Context of an item. */
interface ItemPlace {
  readonly labels: Labels;
  /** The driver's default_root. */
  readonly root: string;
  /** Families that have the driver. */
  readonly families: readonly Family[];
}

/** Completes an item: its own members, else those of the shared item, else empty values. */
function expand(
  own: ItemText,
  shared: SharedItemText | undefined,
  { labels, root, families }: ItemPlace,
): ConfigItem {
  const facts = { ...shared, ...own };
  const fromRoot = shared?.from_default_root === true;
  const initial = own.default ?? (fromRoot ? root : shared?.default) ?? "";
  const name = own.use ?? own.name ?? "";
  const { type = "string", options = "", help = "" } = facts;
  return Object.freeze({
    name,
    type,
    default: initial,
    options,
    required: own.required ?? (fromRoot ? initial !== "" : shared?.required) ?? false,
    help: own.legacy_help ? help : "",
    description: help,
    label: facts.label ?? labels.nameOf(name),
    optionLabels: labels.optionsOf(name, options),
    unit: facts.unit ?? "",
    fraction: type === "float",
    families: facts.families ?? families,
    secret: facts.secret ?? false,
    destination: facts.destination ?? false,
    showWhen: facts.show_when ?? "",
    requiredUnless: facts.required_unless ?? "",
    ...(facts.min === undefined ? {} : { min: facts.min }),
    ...(facts.max === undefined ? {} : { max: facts.max }),
  });
}

/** Violation of a rule: the member, and the reason. */
interface Breach {
  readonly member:
    | "name"
    | "default"
    | "options"
    | "min"
    | "max"
    | "secret"
    | "show_when"
    | "required_unless";
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
function checkItem(item: ConfigItem, driver: string): Breach[] {
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
function checkCondition(
  item: ConfigItem,
  items: ReadonlyMap<string, ConfigItem>,
): Breach | undefined {
  if (item.showWhen === "") return undefined;
  const reason = conditionReason(item, items);
  return reason === undefined ? undefined : { member: "show_when", reason };
}

/** Checks that the alternatives of a required item are other items of the driver with text. */
function checkAlternatives(item: ConfigItem, items: ReadonlyMap<string, ConfigItem>): Breach[] {
  const member = "required_unless";
  if (item.requiredUnless === "") return [];
  return alternativesOf(item).flatMap((name): Breach[] => {
    const other = items.get(name);
    if (other === undefined) {
      const hint = didYouMean(name, items.keys());
      return [{ member, reason: `names "${name}", which is not an item of this driver.${hint}` }];
    }
    if (name === item.name) return [{ member, reason: "must name another item, not its own" }];
    if (!holdsText(other) || other.default !== "")
      return [{ member, reason: `names ${name}, which must be text without a default` }];
    return [];
  });
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
