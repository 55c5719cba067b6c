import type { ConfigItem } from "../../../gen/mooring/v1/driver_pb.js";

/** Values as text, by item name. Items that are not given are absent. */
export type Values = Readonly<Record<string, string>>;

/**
 * Reports whether an item is shown: its `show_when` (`item=value|value`) holds, and so does that of
 * the deciding item.
 */
export function isShown(
  item: ConfigItem,
  items: ReadonlyMap<string, ConfigItem>,
  values: Values,
): boolean {
  const passed = new Set<string>();
  for (let now: ConfigItem | undefined = item; now !== undefined && now.showWhen !== ""; ) {
    passed.add(now.name);
    const [name = "", wanted = ""] = splitOnce(now.showWhen);
    const other = items.get(name);
    if (other === undefined || passed.has(name)) return true;
    if (!wanted.split("|").includes(settled(other, values))) return false;
    now = other;
  }
  return true;
}

/** Value of an item: as given, or its default. */
function settled(item: ConfigItem, values: Values): string {
  const given = values[item.name] ?? item.default;
  return item.type === "bool" && given === "" ? "false" : given;
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf("=");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
