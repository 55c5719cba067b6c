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
import { checkCondition, checkItem } from "./item-rules.ts";
import { checkOrders, offered } from "./offer.ts";
import type { Finding } from "./problem.ts";
import { parseSource, type SourceText, stopAt } from "./source-text.ts";

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
    showWhen: facts.show_when ?? "",
    ...(facts.min === undefined ? {} : { min: facts.min }),
    ...(facts.max === undefined ? {} : { max: facts.max }),
  });
}
