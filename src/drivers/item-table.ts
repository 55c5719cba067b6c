import { FAMILIES, type Family } from "../config/family.ts";
import type { Labels } from "../messages/label.ts";
import { COMMON_NAMES } from "./common-items.ts";
import type { ConfigItem } from "./driver-info.ts";
import { checkItemsByName, type ItemText, type SharedItemText } from "./file-format.ts";
import { checkItem } from "./item-rules.ts";
import type { Finding } from "./problem.ts";
import { parseSource, type SourceText, stopAt } from "./source-text.ts";

/** The items that drivers use by name. Their sense is checked where a driver uses them. */
export function readSharedItems(source: SourceText): Map<string, SharedItemText> {
  const json = parseSource(source);
  stopAt(checkItemsByName(json.value), source, json);
  return new Map(Object.entries(json.value as Record<string, SharedItemText>));
}

/** Reads the common items: all of them, each valid by itself. */
export function readCommonItems(source: SourceText, labels: Labels): Map<string, ConfigItem> {
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
export interface ItemPlace {
  readonly labels: Labels;
  /** The driver's default_root. */
  readonly root: string;
  /** Families that have the driver. */
  readonly families: readonly Family[];
}

/** An item with every member: its own, else the shared item's, else the empty one. */
export function expand(
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
