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

/** The common items: all of them, each right by itself. */
export function readCommonItems(source: SourceText): Map<string, ConfigItem> {
  const texts = readSharedItems(source);
  const items = new Map<string, ConfigItem>();
  for (const [name, text] of texts) items.set(name, expand({ use: name }, text, ""));
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

/** An item with every member: its own, else the shared item's, else the empty one. */
export function expand(
  own: ItemText,
  shared: SharedItemText | undefined,
  root: string,
): ConfigItem {
  const facts = { ...shared, ...own };
  const fromRoot = shared?.from_default_root === true;
  const initial = own.default ?? (fromRoot ? root : shared?.default) ?? "";
  return Object.freeze({
    name: own.use ?? own.name ?? "",
    type: facts.type ?? "string",
    default: initial,
    options: facts.options ?? "",
    required: own.required ?? (fromRoot ? initial !== "" : shared?.required) ?? false,
    help: facts.help ?? "",
    secret: facts.secret ?? false,
    showWhen: facts.show_when ?? "",
    ...(facts.min === undefined ? {} : { min: facts.min }),
    ...(facts.max === undefined ? {} : { max: facts.max }),
  });
}
